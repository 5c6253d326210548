"""Limits and usage of sessions.

Size of a submission; spending of turns, tenants and models; usage by participant. The limits of the
whole session are its stop conditions (`TokenBudget`, `CostBudget`, `MaxTurns`, `Deadline`). A turn that
begins reserves the most it may spend, and settles what it did spend when it closes, so turns side by
side never exceed a limit together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field, JsonValue

from ..errors import InvalidInput, MessageTooLarge
from ..protocol.base import Event
from ..protocol.collab import Collab
from ..protocol.dialog import Message
from ..protocol.events import MapEvent, MAPEventType
from ..turns.frozen import Frozen
from ..turns.turn import TurnContext, TurnOutcome, Usage

_Tokens = Annotated[int, Field(ge=1, le=10**12)]
_Usd = Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]

#: Tenant that a session is charged to: a team, a customer.
TENANT_PATTERN = r"^[\w.@:-]+$"
Tenant = Annotated[str, Field(max_length=100, pattern=TENANT_PATTERN)]


class TurnLimits(Frozen):
    """Spending limits of one turn: a turn begins only if the session's limits leave that much."""

    #: Tokens, in and out.
    turn_tokens: _Tokens | None = None
    #: US dollars.
    turn_usd: _Usd | None = None


class SpendingBounds(Frozen):
    """Upper bounds on what an agent spends in one turn, as far as they are known."""

    tokens: int | None = None
    #: Millionths of a US dollar.
    cost_micros: int | None = None


class UnitReservation(Frozen):
    """Reservation request of a turn for one unit."""

    #: Limit of the whole session.
    limit: int
    #: Reserved when the turn begins; None: its share of the remainder, since its cost is unknown.
    most: int | None = None
    #: Minimum; with less, and no reservation to be released, the turn cannot begin.
    least: int = 1


class ReservationRequest(Frozen):
    """Reservation request of a turn for each limited unit."""

    tokens: UnitReservation | None = None
    #: In millionths of a US dollar.
    cost: UnitReservation | None = None


class DailyLimits(Frozen):
    """Limits of each tenant from one midnight (UTC) to the next; None: no limit."""

    tokens: int | None = None
    #: Millionths of a US dollar.
    cost_micros: int | None = None
    turns: int | None = None


class Rate(Frozen):
    """Rate limit of a model's provider per minute, and the demand of a turn."""

    #: The model's name in the registry.
    model: str
    requests: int | None = None
    tokens: int | None = None
    #: Estimated tokens of the turn.
    turn_tokens: int = 0


#: Characters of a participant's id, which travels with every task of its turns.
MAX_ID = 200
#: Participants of a session: every plan and every turn looks at all of them.
MAX_PARTICIPANTS = 1_000
#: Messages a dialog may start with.
MAX_MESSAGES = 10_000
#: Bytes (UTF-8) of the collab and the messages together.
MAX_OPENING_BYTES = 67_108_864


def check_sizes(collab: Collab, messages: Sequence[Message], *, max_message_bytes: int) -> None:
    """Check the size of a collab and its opening messages; `max_message_bytes` is the limit of each text.

    Raises:
        InvalidInput: The first limit that is exceeded, or a blank message.
        MessageTooLarge: The first text that is too long.
    """
    _check_count("participants", len(collab.participants), MAX_PARTICIPANTS)
    _check_count("messages", len(messages), MAX_MESSAGES)
    for i, participant in enumerate(collab.participants):
        if len(participant.participant_id) > MAX_ID:
            rule = f"must have at most {MAX_ID} characters"
            raise InvalidInput(f"participants[{i}].participant_id", participant.participant_id, rule)
    for where, text in (("title", collab.title), ("purpose", collab.purpose)):
        _check_text(where, text, max_message_bytes)
    for i, message in enumerate(messages):
        if not message.content.strip():
            raise InvalidInput(f"messages[{i}].content", message.content, "must not be blank")
        _check_text(f"messages[{i}].content", message.content, max_message_bytes)
    total = sum(len(part.to_json().encode()) for part in (collab, *messages))
    if total > MAX_OPENING_BYTES:
        raise MessageTooLarge(total, limit_bytes=MAX_OPENING_BYTES, field="collab and messages")


def _check_count(where: str, count: int, limit: int) -> None:
    if count > limit:
        raise InvalidInput(where, count, f"must have at most {limit} items")


def _check_text(where: str, text: str, limit_bytes: int) -> None:
    if (size := len(text.encode())) > limit_bytes:
        raise MessageTooLarge(size, limit_bytes=limit_bytes, field=where)


#: Event with the usage of an attempt that was reported after the end of its turn.
LATE_USAGE_EVENT = "turn.spent"


def usage_by_participant(events: Iterable[MapEvent], journal: Iterable[Event] = ()) -> dict[str, Usage]:
    """Return the usage of each participant by id, failed attempts included.

    The order is that of their first turns.
    """
    payloads = [
        *(event.payload for event in events if event.event_type is MAPEventType.TURN_COMPLETED),
        *(event.data for event in journal if event.event_type == LATE_USAGE_EVENT),
    ]
    spent: dict[str, Usage] = {}
    for payload in filter(None, payloads):
        name, result = payload.get("participant_id"), payload.get("result", payload)
        if isinstance(name, str) and isinstance(result, dict):
            spent[name] = spent.get(name, Usage()) + _usage(result.get("usage"))
    return spent


def _usage(payloads: JsonValue) -> Usage:
    """Return the usage in an event; a missing usage counts as zero."""
    return Usage.model_validate(payloads) if isinstance(payloads, dict) else Usage()


def has_budget_to_ask_again(context: TurnContext, outcome: TurnOutcome) -> bool:
    """Return whether the budget of the turn allows a second answer at the cost of the first."""
    left = context.remaining
    tokens = left.tokens is None or 2 * outcome.usage.tokens <= left.tokens
    cost = left.cost_micros is None or 2 * outcome.usage.cost_micros <= left.cost_micros
    return tokens and cost
