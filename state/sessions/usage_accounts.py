"""Usage accounts of the attempts of a turn, as booked by the scripts: one account per attempt, by its token.

An account holds the usage of one attempt alone. It may be reported by the attempt itself or by
one that found its journal, any number of times: it is booked once (`book_accounts` in `lua/lib/accounts.lua`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic_core import to_json

from ...models.turns.turn import MOST_SPENT, Usage

#: Usage of each attempt, by its token.
Accounts = Mapping[str, Usage]
_NOTHING = Usage()


def format_accounts(accounts: Accounts) -> bytes:
    """Return accounts in the form that scripts read: without empty ones, and with amounts capped so that no counter overflows."""
    amounts = {token: [min(amount, MOST_SPENT) for _, amount in usage] for token, usage in accounts.items()}
    return to_json({token: row for token, row in amounts.items() if any(row)})


def read_amounts(amounts: Sequence[int]) -> Usage:
    """Return the usage from amounts of scripts, in the order of `AMOUNTS` in `lua/lib/accounts.lua`."""
    return Usage(**dict(zip(Usage.model_fields, amounts, strict=True))) if any(amounts) else _NOTHING


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """Return the sum of all usages."""
    return sum(usages, Usage())
