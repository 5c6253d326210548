"""What the attempts of a turn have spent, as the scripts book it: each attempt has an account, by its token.

An account says what one attempt alone has spent so far. Whoever tells it, the attempt itself or
one that found its journal, and however often: it is booked once (`book` in `_lib.lua`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic_core import to_json

from ..models.turn import MOST_SPENT, Usage

#: What each attempt has spent, by its token.
Accounts = Mapping[str, Usage]
_NOTHING = Usage()


def written(accounts: Accounts) -> bytes:
    """Accounts as scripts read them: those in which there is something, none so large that a counter would overflow."""
    amounts = {token: [min(amount, MOST_SPENT) for _, amount in usage] for token, usage in accounts.items()}
    return to_json({token: row for token, row in amounts.items() if any(row)})


def read_amounts(amounts: Sequence[int]) -> Usage:
    """Amounts as scripts tell them, in the order of `AMOUNTS` in `_lib.lua`."""
    return Usage(**dict(zip(Usage.model_fields, amounts, strict=True))) if any(amounts) else _NOTHING


def total(usages: Iterable[Usage]) -> Usage:
    """All of them together."""
    return sum(usages, Usage())
