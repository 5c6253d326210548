"""What a session needs: the expected tokens and cost of its requests, and what is reserved for them before it starts.

The reservation is higher than the estimate: requests with many tokens per byte, and answers up to the limit that the
reservation pays for. So a batch under a limit never spends more than the limit.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...models.errors import InvalidInput
from ...models.modes import mode_of
from ...models.sessions.known_agents import BATCH_PROVIDERS, PRICE_ADVICE, ReaderModel
from ...models.turns.message_lists import MAX_TOKENS_PER_ESTIMATED, estimate_tokens
from ..chunks.planner import ORCHESTRATOR, PlannedSession, panel_of_part
from ..state.records import Needs
from ..values.checks import VERIFIER
from ..values.panels import Panel, Seat
from ..values.runs import Item, ItemPart, PartReaders

#: Tokens of a system prompt without instructions, and of an answer whose length is not limited.
PROMPT_TOKENS, ANSWER_TOKENS = 500, 600
#: Requests of a model that leads a session: to start the reviewers, and to end it.
_LEADER_REQUESTS = 2


def is_read_by_models(item: Item, readers: Mapping[str, ReaderModel]) -> bool:
    """Return whether models take part in the session of an item."""
    part = item.part
    return bool(readers) and (part is None or part.readers is not PartReaders.PROGRAMS)


def session_needs(
    session: PlannedSession, panel: Panel, readers: Mapping[str, ReaderModel]
) -> tuple[int, int | None]:
    """Return the expected tokens and cost in millionths of a US dollar; None: a price is not known."""
    if not is_read_by_models(session.item, readers):
        return 0, 0
    tokens, cost, is_priced = 0, 0.0, True
    for seat in _model_seats(panel, readers, session.item.part):
        asked = _asked_tokens(session, panel, seat)
        model, answer = readers[seat.name], min(seat.max_tokens or ANSWER_TOKENS, ANSWER_TOKENS)
        times = _requests_of(seat)
        tokens += times * (asked + answer)
        is_priced &= model.is_priced
        cost += times * (
            asked * (model.input_usd_per_million or 0) + answer * (model.output_usd_per_million or 0)
        )
    return tokens, round(cost) if is_priced else None


def reserved_needs(session: PlannedSession, panel: Panel, readers: Mapping[str, ReaderModel]) -> Needs:
    """Return what must be left for a session to start: 1 of what is not known.

    Each of its turns reserves the same cost, so it is that of the most expensive one.
    """
    tokens, cost = session_needs(session, panel, readers)
    if not cost:
        return Needs(max(tokens, 1), 1)
    seats = _model_seats(panel, readers, session.item.part)
    dearest = max(
        MAX_TOKENS_PER_ESTIMATED
        * _asked_tokens(session, panel, seat)
        * (readers[seat.name].input_usd_per_million or 0)
        + min(seat.max_tokens or ANSWER_TOKENS, ANSWER_TOKENS)
        * (readers[seat.name].output_usd_per_million or 0)
        for seat in seats
    )
    return Needs(max(tokens, 1), max(round(dearest * count_shares(panel, readers, session.item.part)), 1))


def count_shares(panel: Panel, readers: Mapping[str, ReaderModel], part: ItemPart | None) -> int:
    """Return the number of turns of models in a session, each of which gets a share of its cost."""
    return sum(map(_requests_of, _model_seats(panel, readers, part)))


def check_seats(panel: Panel, readers: Mapping[str, ReaderModel]) -> None:
    """Refuse a cost limit that does not count the requests of a seat, and batches of a model without a batch API.

    Raises:
        InvalidInput: The message names the seat, and what its model lacks.
    """
    is_limited = panel.batch.max_usd is not None or panel.limits.turn_usd is not None
    for seat in panel.seats:
        model = readers.get(seat.name)
        rule = ""
        if model is not None and is_limited and not model.is_priced:
            rule = f"must have a price for each of its models, because the review has a cost limit: {PRICE_ADVICE}"
        elif model is not None and panel.batch_api and not model.has_batch_api:
            rule = f"must have a model of a provider with a batch API ({', '.join(BATCH_PROVIDERS)}), or use --no-batch"
        if rule:
            raise InvalidInput(f"seats.{seat.name}.agent", seat.agent, rule)


def _model_seats(panel: Panel, readers: Mapping[str, ReaderModel], part: ItemPart | None) -> list[Seat]:
    """Return the seats of a session that models have."""
    return [seat for seat in panel_of_part(panel, readers, part).seats if seat.name in readers]


def _asked_tokens(session: PlannedSession, panel: Panel, seat: Seat) -> int:
    """Return the expected input tokens of a request; a verifier reads the answers of the others, too."""
    others = len(panel.seats) - 1 if seat.role == VERIFIER or not mode_of(panel.mode).has_orchestrator else 0
    words = (session.opening, session.guide, panel.purpose, seat.instructions or "")
    return sum(map(estimate_tokens, words)) + PROMPT_TOKENS + others * ANSWER_TOKENS // 2


def _requests_of(seat: Seat) -> int:
    return _LEADER_REQUESTS if seat.role == ORCHESTRATOR else 1
