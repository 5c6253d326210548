"""The agents `clarity`, `consistency` and `facts`: they review a document by rules, without a model.

They review the first fenced block of the dialog's first user message, as `reviews` creates it. Code inside
the document is not reviewed. What the repository contradicts is in the session's parameter `review`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from ...models.protocol.dialog import Role
from ...models.turns.turn import TurnContext
from ..values.documents.document import Document, Remark
from ..values.documents.facts import RepositoryFacts
from ..values.documents.reading import read_document
from .code import fenced_blocks
from .structure_checks import check_headings, check_own_links, check_repository
from .text_checks import (
    check_dates,
    check_numbers,
    check_repeated_words,
    check_sentences,
    check_spellings,
    check_unfinished,
)

_Check = Callable[[Document, RepositoryFacts], Iterator[Remark]]


def clarity(turn: TurnContext) -> str | None:
    """Report sentences and paragraphs that are too long, repeated words, and open to-dos."""
    return _review_document(turn, _clarity)


def consistency(turn: TurnContext) -> str | None:
    """Report words with two spellings, contradicting numbers, and duplicate, empty and skipped headings."""
    return _review_document(turn, _consistency)


def facts(turn: TurnContext) -> str | None:
    """Report impossible dates, links to missing places and files, and misspelled names of the repository."""
    return _review_document(turn, _facts)


def _review_document(turn: TurnContext, check: _Check) -> str | None:
    opening = next((it.content for it in turn.messages if it.role is Role.USER), "")
    text = next((body for _, body in fenced_blocks(opening)), "")
    if not text.strip():
        return None
    path, known = _parameters(turn)
    remarks = sorted(set(check(read_document(text, path=path), known)))
    summary = f"{turn.me.participant_id} found {len(remarks) or 'nothing'} to fix"
    return json.dumps({"findings": [it._asdict() for it in remarks], "summary": summary})


def _parameters(turn: TurnContext) -> tuple[str, RepositoryFacts]:
    """Return the path of the document, and what its repository contradicts."""
    parameter = turn.parameters.get("review")
    data = parameter if isinstance(parameter, dict) else {}
    return str(data.get("path", "")), RepositoryFacts.model_validate(data.get("facts") or {})


def _clarity(document: Document, _: RepositoryFacts) -> Iterator[Remark]:
    yield from check_sentences(document)
    yield from check_repeated_words(document)
    yield from check_unfinished(document)


def _consistency(document: Document, _: RepositoryFacts) -> Iterator[Remark]:
    yield from check_spellings(document)
    yield from check_headings(document)
    yield from check_numbers(document)


def _facts(document: Document, known: RepositoryFacts) -> Iterator[Remark]:
    yield from check_dates(document)
    yield from check_own_links(document)
    yield from check_repository(document, known)


#: The checks of all agents.
CHECKS: tuple[_Check, ...] = (_clarity, _consistency, _facts)
