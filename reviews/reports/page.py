"""The report as one HTML file: nothing is loaded, nothing runs, and what agents and files say stays text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files

from ...models.review.findings import Finding
from ...models.review.runs import ReviewRun
from .outline import Outline, others, told

_STYLE = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
#: Only this very style applies, whatever else may have come into the page.
_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"


def to_html(run: ReviewRun) -> str:
    """The report of a run."""
    outline = Outline(run)
    title = escape(outline.title)
    head = (
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{title}</h1>",
    )
    return "\n".join([*head, *_body(outline), "</body>", "</html>"]) + "\n"


def _body(outline: Outline) -> Iterator[str]:
    yield "<dl>"
    yield from (f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in outline.facts)
    yield "</dl>"
    if outline.summary:
        yield f"<blockquote>{''.join(f'<p>{escape(it)}</p>' for it in outline.summary)}</blockquote>"
    yield from _table(outline.counts)
    yield "<h2>Findings</h2>"
    if not outline.open_by_path:
        yield "<p>Nothing to act on.</p>"
    for path, found in outline.open_by_path:
        yield f"<h3><code>{escape(path)}</code></h3>"
        yield from _list(map(_finding, found))
    yield from _folded("Gone", [_line(it) for it in outline.gone])
    yield from _folded("Suppressed by the baseline", [_line(it) for it in outline.suppressed])
    unread = [f"<code>{escape(path)}</code>: {escape(why)}" for path, why in outline.unreviewed]
    yield from _folded("Not reviewed", unread)
    said = [
        f"<code>{escape(paths[0])}</code>{others(paths)}<blockquote>{escape(it)}</blockquote>"
        for paths, it in outline.remarks
    ]
    yield from _folded("What was said", said)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield "<table>"
    header = "".join(f'<th scope="col">{it}</th>' for it in rows[0])
    yield f"<thead><tr>{header}</tr></thead>"
    yield "<tbody>"
    for name, *counts in rows[1:]:
        cells = "".join(f"<td>{it}</td>" for it in counts)
        yield f'<tr><th scope="row" class="{name}">{name}</th>{cells}</tr>'
    yield "</tbody></table>"


def _list(entries: Iterable[str]) -> Iterator[str]:
    yield "<ul>"
    yield from (f"<li>{entry}</li>" for entry in entries)
    yield "</ul>"


def _folded(title: str, entries: Sequence[str]) -> Iterator[str]:
    if entries:
        yield f"<details><summary>{title} ({len(entries)})</summary>"
        yield from _list(entries)
        yield "</details>"


def _finding(finding: Finding) -> str:
    where = finding.place.removeprefix(finding.path).removeprefix(":")
    severity = finding.severity.value
    parts = [
        f'<strong class="{severity}">{severity}</strong>',
        f"line {where}" if where else "",
        f"<code>{escape(finding.rule)}</code>",
        f'<span class="said">{escape(finding.message)}</span>',
        f"<small>{escape(told(finding))}</small>",
        f"<pre>{escape(finding.suggestion)}</pre>" if finding.suggestion else "",
    ]
    return " ".join(filter(None, parts))


def _line(finding: Finding) -> str:
    return (
        f"<code>{escape(finding.place)}</code> <code>{escape(finding.rule)}</code> {escape(finding.message)}"
    )
