"""What the session of an item is estimated to need: tokens and cost of one request to each of its models. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ...models.sessions.known_agents import ReaderModel
from ..chunks.planner import PlannedSession, session_tokens
from ..state.records import Needs
from ..values.panels import Panel
from ..values.runs import PartReaders

#: Tokens of a system prompt, and of an answer whose length is not limited.
_PROMPT_TOKENS, _ANSWER_TOKENS = 300, 800


def is_read_by_models(session: PlannedSession, readers: Mapping[str, ReaderModel]) -> bool:
    """Return whether models take part in a session."""
    part = session.item.part
    return bool(readers) and (part is None or part.readers is not PartReaders.PROGRAMS)


def session_needs(
    session: PlannedSession, panel: Panel, readers: Mapping[str, ReaderModel]
) -> tuple[int, int | None]:
    """Return the tokens and the cost in millionths of a US dollar; None: a price is not in the registry."""
    if not is_read_by_models(session, readers):
        return 0, 0
    asked = session_tokens(session) + _PROMPT_TOKENS
    tokens, cost = 0, 0.0
    is_priced = True
    for seat, model in readers.items():
        answer = _answer_tokens(panel, seat)
        tokens += asked + answer
        is_priced &= not (model.input_usd_per_million is None and model.output_usd_per_million is None)
        cost += asked * (model.input_usd_per_million or 0.0) + answer * (model.output_usd_per_million or 0.0)
    return tokens, round(cost) if is_priced else None


def limited_needs(session: PlannedSession, panel: Panel, readers: Mapping[str, ReaderModel]) -> Needs:
    """Return what is set aside for a session: 1 of what is not known."""
    tokens, cost = session_needs(session, panel, readers)
    return Needs(max(tokens, 1), max(cost or 1, 1))


def _answer_tokens(panel: Panel, seat: str) -> int:
    return next((it.max_tokens for it in panel.seats if it.name == seat), None) or _ANSWER_TOKENS
