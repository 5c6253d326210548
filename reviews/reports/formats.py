"""The formats of reports by name, and the files they are written to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from ...models.errors import InvalidInput
from ...models.review.runs import ReviewRun
from .alignment import alignment_documents
from .junit import to_junit
from .lines import to_lines
from .markdown import to_markdown
from .page import to_html
from .sarif import to_sarif


class ReportFormat(StrEnum):
    """For whom a report is written."""

    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    JSONL = "jsonl"
    #: The dialogue documents of the sessions, a file each.
    ALIGNMENT = "alignment"

    @property
    def file_name(self) -> str:
        """Where it is written, in the folder of the reports."""
        return _FILES[self]


_FILES = {
    ReportFormat.MARKDOWN: "review.md",
    ReportFormat.HTML: "review.html",
    ReportFormat.SARIF: "review.sarif",
    ReportFormat.JUNIT: "review.junit.xml",
    ReportFormat.JSONL: "review.jsonl",
    ReportFormat.ALIGNMENT: "alignment",
}
_WRITERS: dict[ReportFormat, Callable[[ReviewRun], str]] = {
    ReportFormat.MARKDOWN: to_markdown,
    ReportFormat.HTML: to_html,
    ReportFormat.SARIF: to_sarif,
    ReportFormat.JUNIT: to_junit,
    ReportFormat.JSONL: to_lines,
}


def render(run: ReviewRun, report: ReportFormat) -> str:
    """One report. Raises InvalidInput for `alignment`, which is several documents."""
    if report not in _WRITERS:
        raise InvalidInput("format", report, "must be a format of one document")
    return _WRITERS[report](run)


def report_files(
    run: ReviewRun,
    formats: Iterable[ReportFormat],
    *,
    transcript: Callable[[str], str] | None = None,
) -> dict[str, str]:
    """Reports by the names of their files, relative to a folder of their own.

    `transcript` answers the dialogue document of a session id, as `CollabJob.transcript` does; without one
    there are no such documents.
    """
    told: dict[str, str] = {}
    for report in dict.fromkeys(formats):
        if report in _WRITERS:
            told[report.file_name] = _WRITERS[report](run)
        elif transcript is not None:
            documents = alignment_documents(run, transcript)
            told |= {f"{report.file_name}/{name}": text for name, text in documents}
    return told
