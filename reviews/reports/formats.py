"""Report formats, one value each, and the files of a report.

The command line lists the formats, so importing this module must stay fast: what writes a report is imported
when it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..values.findings import Finding
    from ..values.runs import ReviewRun

#: Function that returns the alignment document of a session id, like `CollabJob.transcript`.
Transcript = Callable[[str], str]


class ReportFile(NamedTuple):
    """A report file."""

    #: A single name, such as `review.sarif`.
    name: str
    media_type: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFormat:
    """A format of reports: one document of a run, or one document of each session."""

    #: Name, as in `--format` and in schedules.
    name: str
    #: Name of the file, such as `review.html`; with `render_sessions`, the end of the name of each file.
    file_name: str
    media_type: str
    #: Function that returns the report. A format has either this or `render_sessions`.
    render: Callable[[ReviewRun], str] | None = None
    #: Function that yields the beginning of a file name, and the document, for each session.
    render_sessions: Callable[[ReviewRun, Transcript], Iterable[tuple[str, str]]] | None = None

    def files(self, run: ReviewRun, transcript: Transcript | None = None) -> Iterator[ReportFile]:
        """Yield the files of a run; without `transcript`, none of a format that has a file per session."""
        if self.render is not None:
            yield ReportFile(self.file_name, self.media_type, self.render(run))
        elif self.render_sessions is not None and transcript is not None:
            for beginning, text in self.render_sessions(run, transcript):
                yield ReportFile(f"{beginning}{self.file_name}", self.media_type, text)


# The other formats are imported with their libraries when a report is rendered.


def _to_markdown(run: ReviewRun) -> str:
    from .markdown import to_markdown

    return to_markdown(run)


def _to_html(run: ReviewRun) -> str:
    from .html import to_html

    return to_html(run)


def _to_sarif(run: ReviewRun) -> str:
    from .sarif import to_sarif

    return to_sarif(run)


def _to_junit(run: ReviewRun) -> str:
    from .junit import to_junit

    return to_junit(run)


_RDJSON_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def to_rdjson(run: ReviewRun) -> str:
    """Return the report in reviewdog's diagnostic format, for `reviewdog -f=rdjson`.

    Ranges are whole lines: columns of the format count bytes, those of findings count characters. Findings that are
    gone or known are left out, because reviewdog reports every diagnostic.

    Source: https://github.com/reviewdog/reviewdog, proto/rdf/reviewdog.proto.
    """
    from ...models.text.redact import json_text

    result = {
        "source": {"name": f"symposia review ({run.panel})"},
        "diagnostics": [_diagnostic(finding) for finding in run.open_findings],
    }
    return json_text(result, indent=1) + "\n"


def _diagnostic(finding: Finding) -> dict[str, Any]:
    location: dict[str, Any] = {"path": finding.path}
    diagnostic: dict[str, Any] = {
        "message": finding.full_text,
        "location": location,
        "severity": _RDJSON_SEVERITIES[finding.severity.sarif_level],
        "code": {"value": finding.rule},
    }
    if finding.agents:
        diagnostic["source"] = {"name": ", ".join(finding.agents)}
    if finding.start_line and finding.side == "right":  # it knows no removed lines
        lines = {"start": {"line": finding.start_line}, "end": {"line": finding.end_line}}
        location["range"] = lines
        if finding.replacement is not None:
            diagnostic["suggestions"] = [{"range": lines, "text": finding.replacement}]
    return diagnostic


def to_jsonl(run: ReviewRun) -> str:
    """Return the report of a run.

    Each line is an object whose `type` is `run`, `item`, `skipped` or `finding`.
    """
    from ...models.text.redact import json_text

    return "".join(f"{json_text(entry)}\n" for entry in _objects(run))


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


def alignment_documents(run: ReviewRun, transcript: Transcript) -> Iterator[tuple[str, str]]:
    """Yield the beginnings of file names, and documents, in the order of the items.

    There is no document for items without a session, or whose session has expired or did not use the
    alignment protocol.
    """
    from ...models.errors import InvalidInput, SessionNotFound

    for number, result in enumerate(run.results, start=1):
        if result.session_id is None:
            continue
        try:
            text = transcript(result.session_id)
        except (SessionNotFound, InvalidInput):
            continue
        name = _UNUSUAL.sub("-", result.item.path)[-_LONGEST:].strip("-.")
        yield f"{number:04}-{name or 'item'}", text


_TEXT = "text/markdown"
MARKDOWN = ReportFormat(name="markdown", file_name="review.md", media_type=_TEXT, render=_to_markdown)
HTML = ReportFormat(name="html", file_name="review.html", media_type="text/html", render=_to_html)
SARIF = ReportFormat(
    name="sarif", file_name="review.sarif", media_type="application/sarif+json", render=_to_sarif
)
JUNIT = ReportFormat(
    name="junit", file_name="review.junit.xml", media_type="application/xml", render=_to_junit
)
RDJSON = ReportFormat(
    name="rdjson", file_name="review.rdjson", media_type="application/json", render=to_rdjson
)
JSONL = ReportFormat(name="jsonl", file_name="review.jsonl", media_type="application/jsonl", render=to_jsonl)
#: The alignment documents of the sessions, one file each.
ALIGNMENT = ReportFormat(
    name="alignment", file_name=".dialogue.md", media_type=_TEXT, render_sessions=alignment_documents
)

#: Name for all formats.
ALL = "all"
_FORMATS = {form.name: form for form in (MARKDOWN, HTML, SARIF, JUNIT, RDJSON, JSONL, ALIGNMENT)}


def formats() -> tuple[ReportFormat, ...]:
    """Return all formats, in the order in which they are shown."""
    return tuple(_FORMATS.values())


def format_of(name: str, *, field: str = "formats") -> ReportFormat:
    """Return a format by its name.

    Args:
        name: Name of the format.
        field: Name of the value, for the error.

    Raises:
        InvalidInput: No format has this name.
    """
    from ...models.errors import InvalidInput

    if name not in _FORMATS:
        raise InvalidInput(field, name, f"must be one of {', '.join(_FORMATS)}")
    return _FORMATS[name]


def format_of_ending(ending: str, *, field: str = "format") -> ReportFormat:
    """Return a format of one document by its name, or by the end of its file name, such as `md`.

    Args:
        ending: The name or the end.
        field: Name of the value, for the error.

    Raises:
        InvalidInput: No such format has it.
    """
    from ...models.errors import InvalidInput

    wanted = RDJSON.name if ending == "json" else ending
    for report in formats():
        if report.render is not None and wanted in (report.name, report.file_name.rpartition(".")[2]):
            return report
    names = ", ".join(report.name for report in formats() if report.render is not None)
    raise InvalidInput(field, ending, f"must be one of {names}")


def add_format(report: ReportFormat) -> None:
    """Add a format.

    Call this in every process that writes or delivers such reports, or adds schedules with them.

    Raises:
        ValueError: The name or the file name is in use, or the format has no function, or both.
    """
    if report.name == ALL or report.name in _FORMATS:
        raise ValueError(f"report format {report.name!r} is registered already")
    if report.file_name in {report_format.file_name for report_format in formats()}:
        raise ValueError(f"another report format has the file name {report.file_name!r}")
    if (report.render is None) is (report.render_sessions is None):
        raise ValueError(f"report format {report.name!r} must have either render or render_sessions")
    _FORMATS[report.name] = report


def render(run: ReviewRun, report: ReportFormat) -> str:
    """Return one report.

    Raises:
        InvalidInput: A format with one document per session.
    """
    from ...models.errors import InvalidInput

    if report.render is None:
        names = ", ".join(other.name for other in formats() if other.render is not None)
        rule = f"must be one of {names}: {report.name} is one file per session"
        raise InvalidInput("format", report.name, rule)
    return report.render(run)


def report_files(
    run: ReviewRun, reports: Iterable[ReportFormat], *, transcript: Transcript | None = None
) -> tuple[ReportFile, ...]:
    """Return the reports of a run, each with a different name.

    `transcript`: function that returns the alignment document of a session id, like `CollabJob.transcript`;
    without it there are no alignment documents.
    """
    return tuple(file for report in dict.fromkeys(reports) for file in report.files(run, transcript))
