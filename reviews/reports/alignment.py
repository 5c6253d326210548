"""Dialogue documents of a run whose panel uses the alignment protocol: one per item, from its session."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ...models.errors import InvalidInput, SessionNotFound
from ...models.review.runs import ReviewRun

_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
#: Maximum characters of a file name that come from a path.
_LONGEST = 100


def alignment_documents(run: ReviewRun, transcript: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yield file names and documents, in the order of the items.

    `transcript` returns the dialogue document of a session id. Items without a session, or whose session has expired or had
    no such protocol, have none.
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
