"""The formats of reports by name, and the files they are written to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple

from ...models.errors import InvalidInput
from ...models.review.runs import ReviewRun
from .alignment import alignment_documents
from .jsonl import to_jsonl
from .markdown import to_markdown
from .sarif import to_sarif


class ReportFormat(StrEnum):
    """Format of a report."""

    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    JSONL = "jsonl"
    #: The dialogue documents of the sessions, one file each.
    ALIGNMENT = "alignment"


class ReportFile(NamedTuple):
    """A report file."""

    #: A single name, such as `review.sarif`.
    name: str
    media_type: str
    text: str


class _Kind(NamedTuple):
    name: str
    media_type: str
    write: Callable[[ReviewRun], str]


def _html(run: ReviewRun) -> str:
    from .html import to_html  # with Jinja, which only this report needs

    return to_html(run)


def _junit(run: ReviewRun) -> str:
    from .junit import to_junit  # with junitparser, which only this report needs

    return to_junit(run)


_MARKDOWN = "text/markdown"
_KINDS = {
    ReportFormat.MARKDOWN: _Kind("review.md", _MARKDOWN, to_markdown),
    ReportFormat.HTML: _Kind("review.html", "text/html", _html),
    ReportFormat.SARIF: _Kind("review.sarif", "application/sarif+json", to_sarif),
    ReportFormat.JUNIT: _Kind("review.junit.xml", "application/xml", _junit),
    ReportFormat.JSONL: _Kind("review.jsonl", "application/jsonl", to_jsonl),
}


def render(run: ReviewRun, report: ReportFormat) -> str:
    """Return one report. Raises InvalidInput for `alignment`, which is several documents."""
    if report not in _KINDS:
        raise InvalidInput("format", report, "must be a format that is a single document")
    return _KINDS[report].write(run)


def report_files(
    run: ReviewRun,
    formats: Iterable[ReportFormat],
    *,
    transcript: Callable[[str], str] | None = None,
) -> tuple[ReportFile, ...]:
    """Return the reports of a run, each with a name of its own.

    `transcript` returns the dialogue document of a session id, as `CollabJob.transcript` does; without it
    there are no such documents.
    """
    files: list[ReportFile] = []
    for report in dict.fromkeys(formats):
        if report in _KINDS:
            name, media_type, write = _KINDS[report]
            files.append(ReportFile(name, media_type, write(run)))
        elif transcript is not None:
            files += [
                ReportFile(name, _MARKDOWN, text) for name, text in alignment_documents(run, transcript)
            ]
    return tuple(files)
