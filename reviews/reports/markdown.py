"""The report as Markdown, for people and merge requests.

Text from agents and files stays text: nothing in it becomes a link, an image, a heading, HTML or a mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...models.review.findings import Finding
from ...models.review.runs import ReviewRun
from .report_model import ReportModel, finding_details, more_suffix

_SPAN = re.compile(r"((?<!`)`[^`]+`(?!`))")
_SPECIAL = re.compile(r"([\\`*_\[\]|~])")
#: Characters that start a list, a heading or a quotation at the beginning of a line.
_BEGINNING = re.compile(r"^(?:[-+=#>]|\d+(?=[.)](?:\s|$)))")
_TICKS = re.compile(r"`+")
#: Characters of HTML, mentions and links without brackets, with their escapes.
_ENTITIES = {"&": "&amp;", "<": "&lt;", "@": "&#64;", "://": ":&#47;/", "www.": "www&#46;"}


def to_markdown(run: ReviewRun) -> str:
    """Return the report of a run."""
    return "\n".join(_lines(ReportModel(run))).rstrip() + "\n"


def _lines(report: ReportModel) -> Iterator[str]:
    yield f"# {escape_text(report.title)}"
    yield ""
    yield from (f"- **{name}**: {escape_text(fact)}" for name, fact in report.facts)
    yield ""
    if report.summary:
        yield from (*_quoted("\n\n".join(report.summary)), "")
    yield from _table(report.counts)
    yield "## Findings"
    yield ""
    if not report.open_by_path:
        yield from ("No open findings.", "")
    for path, found in report.open_by_path:
        yield from (f"### {code_span(path)}", "")
        for finding in found:
            yield from _finding(finding)
        yield ""
    yield from _section("Gone", [_line(it) for it in report.gone])
    yield from _section(
        "Suppressed", [f"{_line(it)} (by {escape_text(it.suppressed_by)})" for it in report.suppressed]
    )
    yield from _section(
        "Not reviewed", [f"- {code_span(path)}: {escape_text(why)}" for path, why in report.unreviewed]
    )
    if report.remarks:
        yield from ("## Remarks", "")
        for paths, said in report.remarks:
            yield from (f"### {code_span(paths[0])}{more_suffix(paths)}", "", *_quoted(said), "")


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from (f"## {title}", "", *lines, "")


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield f"| {' | '.join(rows[0])} |"
    yield f"|---{'|--:' * (len(rows[0]) - 1)}|"
    yield from (f"| {' | '.join(row)} |" for row in rows[1:])
    yield ""


def _finding(finding: Finding) -> Iterator[str]:
    where = finding.place.removeprefix(finding.path).removeprefix(":")
    line = f"line {where}, " if where else ""
    yield f"- **{finding.severity.value}**, {line}{code_span(finding.rule)}: {escape_text(finding.message)} ({escape_text(finding_details(finding))})"
    if "\n" in finding.suggestion:
        fence = "`" * max(3, _longest_ticks(finding.suggestion) + 1)
        yield ""
        yield from (f"  {it}".rstrip() for it in (fence, *finding.suggestion.split("\n"), fence))
        yield ""
    elif finding.suggestion:
        yield f"  - {escape_text(finding.suggestion)}"


def _line(finding: Finding) -> str:
    return f"- {code_span(finding.place)} {code_span(finding.rule)}: {escape_text(finding.message)}"


def _quoted(said: str) -> Iterator[str]:
    for line in said.split("\n"):
        yield f"> {escape_text(line)}".rstrip()


def escape_text(said: str) -> str:
    """Return text escaped so that Markdown shows it unchanged, in one line; `code` stays code."""
    parts = _SPAN.split(" ".join(said.split()))
    shown = "".join(part if number % 2 else _escaped(part) for number, part in enumerate(parts))
    return _BEGINNING.sub(_escaped_beginning, shown)


def _escaped(part: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", part)
    for sign, entity in _ENTITIES.items():
        escaped = escaped.replace(sign, entity)
    return escaped


def _escaped_beginning(match: re.Match[str]) -> str:
    return f"{match[0]}\\" if match[0].isdecimal() else f"\\{match[0]}"


def code_span(said: str) -> str:
    """Return a code span of any text, in one line."""
    line = " ".join(said.split()) or " "
    ticks = "`" * (_longest_ticks(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _longest_ticks(said: str) -> int:
    return max((len(it) for it in _TICKS.findall(said)), default=0)
