"""Report formats by name, report files, JSON lines and alignment documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from ...models.errors import InvalidInput, SessionNotFound
from ...models.review.runs import ReviewRun
from ...models.text.redact import json_text
from .markdown import to_markdown
from .sarif import to_sarif


def to_jsonl(run: ReviewRun) -> str:
    """Return the report of a run.

    Each line is an object whose `type` is `run`, `item`, `skipped` or `finding`.
    """
    return "".join(f"{json_text(it)}\n" for it in _objects(run))


def _objects(run: ReviewRun) -> Iterator[dict[str, Any]]:
    run_fields = run.model_dump(mode="json", exclude={"results", "skipped", "findings"})
    yield {"type": "run", "verdict": run.verdict, **run_fields}
    for result in run.results:
        yield {"type": "item", **result.model_dump(mode="json", exclude={"findings"})}
    for skipped in run.skipped:
        yield {"type": "skipped", **skipped.model_dump(mode="json")}
    for finding in run.findings:
        yield {"type": "finding", "fingerprint": finding.fingerprint, **finding.model_dump(mode="json")}


_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
#: Maximum characters of a file name that come from a path.
_LONGEST = 100


def alignment_documents(run: ReviewRun, transcript: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yield file names and documents, in the order of the items.

    `transcript`: function that returns the dialogue document of a session id. There is no document for items
    without a session, or whose session has expired or did not use the alignment protocol.
    """
    for number, result in enumerate(run.results, start=1):
        if result.session_id is None:
            continue
        try:
            text = transcript(result.session_id)
        except (SessionNotFound, InvalidInput):
            continue
        name = _UNUSUAL.sub("-", result.item.path)[-_LONGEST:].strip("-.")
        yield f"{number:04}-{name or 'item'}.dialogue.md", text


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
    from .html import to_html  # imports Jinja, which only this report needs

    return to_html(run)


def _junit(run: ReviewRun) -> str:
    from .junit import to_junit  # imports junitparser, which only this report needs

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
        raise InvalidInput(
            "format", report, f"must be one of {', '.join(_KINDS)}: alignment is one file per session"
        )
    return _KINDS[report].write(run)


def report_files(
    run: ReviewRun,
    formats: Iterable[ReportFormat],
    *,
    transcript: Callable[[str], str] | None = None,
) -> tuple[ReportFile, ...]:
    """Return the reports of a run, each with a different name.

    `transcript`: function that returns the dialogue document of a session id, like `CollabJob.transcript`;
    without it there are no dialogue documents.
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
