"""Headings: duplicates, empty ones, and skipped levels."""

from __future__ import annotations

from collections.abc import Iterator

from ...values.documents.document import Document, sections
from .remark import Remark

#: Headings that may have nothing below them.
_MAY_BE_EMPTY = ("unreleased", "[unreleased]")


def check_headings(document: Document) -> Iterator[Remark]:
    """Yield the problems of the headings."""
    before = 0
    for heading in document.headings:
        if before and heading.level > before + 1:
            message = f"Heading levels skipped: level {heading.level} follows level {before}."
            yield Remark(heading.line, "skipped-level", "low", message)
        before = heading.level
        if not heading.text.strip():
            yield Remark(heading.line, "empty-heading", "medium", "This heading has no text.")
        elif heading.is_empty and heading.text.strip().casefold() not in _MAY_BE_EMPTY:
            message = f"“{heading.text}” is a heading without any text below it."
            yield Remark(heading.line, "empty-heading", "low", message)
    yield from _duplicates(document)


def _duplicates(document: Document) -> Iterator[Remark]:
    """Yield headings with the text of an earlier one below the same heading."""
    first: dict[tuple[object, ...], int] = {}
    for heading, above in sections(document):
        key = (above, heading.level, heading.text.casefold().strip())
        if not key[-1]:
            continue
        if key in first:
            message = f"“{heading.text}” is already a heading in line {first[key]}."
            yield Remark(heading.line, "duplicate-heading", "low", message)
        first.setdefault(key, heading.line)
