"""The agents `clarity`, `consistency` and `facts`: they review a document by rules, without a model.

They review the first fenced block of the dialog's first user message, as `reviews` creates it. Code inside
the document is not reviewed. What the repository contradicts is in the session's parameter `review`.
The rules about words and numbers are in `text_checks`, `english` and `link_checks`; here are those about headings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pydantic import JsonValue

from ...models.protocol.dialog import Role
from ...models.turns.turn import TurnContext
from ..values.documents.document import Document, Remark, sections
from ..values.documents.facts import RepositoryFacts
from ..values.documents.reading import read_document
from .code import fenced_blocks
from .english import check_grammar
from .link_checks import check_own_links, check_repository
from .text_checks import (
    check_dates,
    check_numbers,
    check_repeated_words,
    check_sentences,
    check_spellings,
    check_unfinished,
)

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


def clarity(turn: TurnContext) -> str | None:
    """Report sentences and paragraphs that are too long, repeated words, wrong articles, and open to-dos."""
    return _review_document(turn, check_sentences, check_repeated_words, check_grammar, check_unfinished)


def consistency(turn: TurnContext) -> str | None:
    """Report words with two spellings, contradicting numbers, and duplicate, empty and skipped headings."""
    return _review_document(turn, check_spellings, check_headings, check_numbers)


def facts(turn: TurnContext) -> str | None:
    """Report impossible dates, links to missing places and files, and misspelled names of the repository."""
    repository_facts = RepositoryFacts.model_validate(_parameter(turn).get("facts") or {})
    return _review_document(
        turn, check_dates, check_own_links, partial(check_repository, facts=repository_facts)
    )


def _review_document(turn: TurnContext, *checks: Callable[[Document], Iterator[Remark]]) -> str | None:
    opening = next((message.content for message in turn.messages if message.role is Role.USER), "")
    text = next((body for _, body in fenced_blocks(opening)), "")
    if not text.strip():
        return None
    document = read_document(text, path=str(_parameter(turn).get("path", "")))
    remarks = sorted({remark for check in checks for remark in check(document)})
    summary = f"{turn.me.participant_id} found {len(remarks) or 'nothing'} to fix"
    return json.dumps({"findings": [remark._asdict() for remark in remarks], "summary": summary})


def _parameter(turn: TurnContext) -> Mapping[str, JsonValue]:
    """Return what the session's parameter says of the item."""
    parameter = turn.parameters.get("review")
    return parameter if isinstance(parameter, dict) else {}
