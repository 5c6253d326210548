"""Ties findings to the text they are about, so that they are known again when lines move."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from .findings import Finding


def snippet_sha(line: str) -> str:
    """Return 16 hexadecimal digits for a line's text, independent of the white space around and within it."""
    return hashlib.sha256(" ".join(line.split()).encode()).hexdigest()[:16]


def with_snippets(findings: Iterable[Finding], text: str) -> tuple[Finding, ...]:
    """Return findings of one item with the hashes of their lines in `text`; lines after its end become its last."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return tuple(_with_snippet(finding, lines) for finding in findings)


def _with_snippet(finding: Finding, lines: Sequence[str]) -> Finding:
    start, end = (min(line, len(lines)) for line in (finding.start_line, finding.end_line))
    sha = snippet_sha(lines[start - 1]) if start else ""
    return finding.model_copy(update={"start_line": start, "end_line": end, "snippet_sha": sha})
