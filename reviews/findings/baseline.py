"""The baseline: a file of findings that a team accepts. They are reported as suppressed, and fail no run.

It identifies findings by their fingerprints, so it stays valid when lines move. Of findings that share a fingerprint it
suppresses as many as it has counted. The other fields of an entry are for readers of the file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from ...models.errors import InvalidInput, invalid_input
from ...models.review.findings import Finding
from ...models.turns.turn import Frozen
from .merging import place_key

#: Number of findings that each fingerprint suppresses.
Baseline = Mapping[str, int]

#: Maximum characters of a file.
MAX_BASELINE = 64_000_000


class _Entry(Frozen):
    fingerprint: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    path: str = ""
    rule: str = ""
    message: str = ""
    count: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class _File(Frozen):
    version: Literal[1]
    findings: tuple[_Entry, ...]


def read_baseline(text: str) -> Baseline:
    """Return what a baseline file suppresses. Raises InvalidInput for its first error."""
    if len(text) > MAX_BASELINE:
        raise InvalidInput("baseline", len(text), f"must have at most {MAX_BASELINE} characters")
    try:
        file = _File.model_validate_json(text)
    except ValidationError as error:
        raise invalid_input(error, "baseline") from None
    counts: Counter[str] = Counter()
    for entry in file.findings:
        counts[entry.fingerprint] += entry.count
    return counts


def baseline_of(findings: Iterable[Finding]) -> str:
    """Return the file that suppresses these findings, without those that are gone; the same text for the same findings."""
    known = [it for it in sorted(findings, key=place_key) if it.status is None or it.status != "gone"]
    counts = Counter(it.fingerprint for it in known)
    first = {it.fingerprint: it for it in reversed(known)}
    entries = [
        {
            "fingerprint": fingerprint,
            "path": it.path,
            "rule": it.rule,
            "message": it.message,
            "count": counts[fingerprint],
        }
        for fingerprint, it in sorted(first.items(), key=lambda pair: place_key(pair[1]))
    ]
    return json.dumps({"version": 1, "findings": entries}, indent=2, ensure_ascii=False) + "\n"
