"""The report as Markdown, for people and merge requests.

Text from agents and files stays text: nothing in it becomes a link, an image, a heading, HTML or a mention.
The only links are those to lines of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..values.findings import Finding
from ..values.runs import ReviewRun
from ..values.skipped import NotReviewed
from . import report_model as content
from .advice import IGNORE_HINT, advice_of, page_of
from .report_model import ReportModel, inline_parts

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
    if report.open_by_path:
        yield from (IGNORE_HINT, "")
    else:
        yield from ("No open findings.", "")
    for path, findings in report.open_by_path:
        yield from (f"### {code_span(path)}", "")
        for finding in findings:
            yield from _finding(report.run, finding)
        yield ""
    yield from _section("Gone", [_line(finding) for finding in report.gone])
    yield from _section(
        "Suppressed",
        [f"{_line(finding)} (by {escape_text(finding.suppressed_by)})" for finding in report.suppressed],
    )
    yield from _section("Not reviewed", [_not_reviewed(entry) for entry in report.unreviewed])
    yield from _section(
        "Dropped findings", [f"- {code_span(path)}: {count}" for path, count in report.dropped]
    )
    if report.remarks:
        yield from ("## Remarks", "")
        for paths, text in report.remarks:
            yield from (f"### {code_span(paths[0])}{content.more_suffix(paths)}", "", *_quoted(text), "")


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from (f"## {title}", "", *lines, "")


def _not_reviewed(entry: NotReviewed) -> str:
    names = ", ".join(filter(None, (*map(code_span, entry.paths), entry.more)))
    return f"- {escape_text(entry.reason)} ({entry.count:,}): {names}"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield f"| {' | '.join(rows[0])} |"
    yield f"|---{'|--:' * (len(rows[0]) - 1)}|"
    yield from (f"| {' | '.join(row)} |" for row in rows[1:])
    yield ""


def _finding(run: ReviewRun, finding: Finding) -> Iterator[str]:
    yield f"- **{finding.severity.value}**, {_place(run, finding)}{code_span(finding.rule)}: {escape_text(finding.message)} ({escape_text(content.finding_details(finding))})"
    lines = content.excerpt_lines(finding)
    width = len(str(lines[-1].number)) if lines else 0
    yield from _block(
        f"{'>' if line.is_flagged else ' '} {line.number:{width}} | {line.text}" for line in lines
    )
    if finding.why:
        yield f"  - Why: {escape_text(finding.why)}"
    page = page_of(finding)
    link = f" ([{escape_text(page.rule)}](<{page.url}>))" if page else ""
    advice = advice_of(finding)
    if "\n" in advice:
        yield f"  - What to do{link}:"
        yield from _block(advice.split("\n"))
    else:
        yield f"  - What to do: {escape_text(advice)}{link}"
    yield from _block(
        (f"{line.sign}{line.text}" for line in content.replacement_diff(finding)), language="diff"
    )
    if verified := content.verification_text(finding):
        yield f"  - {escape_text(verified)}"


def _place(run: ReviewRun, finding: Finding) -> str:
    """Return the lines of a finding, with a link to them if the code host is known."""
    where = content.lines_of(finding)
    link = content.line_link_of(run, finding)
    label = f"line {where}" if where else "whole file" if link else ""
    return f"[{label}](<{link}>), " if link else f"{label}, " if label else ""


def _block(shown: Iterable[str], *, language: str = "") -> Iterator[str]:
    """Yield lines as a fenced block in a list item; nothing without lines."""
    lines = list(shown)
    if not lines:
        return
    fence = fence_of("\n".join(lines))
    yield ""
    yield from (f"  {line}".rstrip() for line in (fence + language, *lines, fence))
    yield ""


def _line(finding: Finding) -> str:
    return f"- {code_span(finding.place)} {code_span(finding.rule)}: {escape_text(finding.message)}"


def _quoted(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"> {escape_text(line)}".rstrip()


def escape_text(text: str) -> str:
    """Return text escaped so that Markdown shows it unchanged, in one line; `code` stays code."""
    parts = inline_parts(" ".join(text.split()))
    shown = "".join(code_span(part.text) if part.is_code else _escaped(part.text) for part in parts)
    return _BEGINNING.sub(_escaped_beginning, shown)


def _escaped(part: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", part)
    for sign, entity in _ENTITIES.items():
        escaped = escaped.replace(sign, entity)
    return escaped


def _escaped_beginning(match: re.Match[str]) -> str:
    return f"{match[0]}\\" if match[0].isdecimal() else f"\\{match[0]}"


def code_span(text: str) -> str:
    """Return a code span of any text, in one line."""
    line = " ".join(text.split()) or " "
    ticks = "`" * (_longest_ticks(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fence_of(text: str) -> str:
    """Return a fence that no line of the text can end."""
    return "`" * max(3, _longest_ticks(text) + 1)


def _longest_ticks(text: str) -> int:
    return max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
