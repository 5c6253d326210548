"""Turns for tests of agents, agents for tests of models, and a function that runs a turn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_ai.models import Model

from ..agents.agent import AnyAgent, TurnServices
from ..agents.execution.runner import AgentRunner
from ..agents.llm.agent import LLMAgent
from ..agents.llm.settings import LLMSettings, ModelSource
from ..models.protocol.collab import CollabMode, Participant
from ..models.protocol.dialog import Message, Role, build_turn_message
from ..models.turns.turn import TurnContext, TurnOutcome
from ..tasks.planners import mode_of

#: Time of the first message; each further one is a second later, so that equal turns have equal times.
BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)
#: Participants of test turns; Ann is the default speaker.
ROSTER = (
    Participant(participant_id="ann", display_name="Ann", role_id="coder"),
    Participant(participant_id="bob", display_name="Bob"),
    Participant(participant_id="cleo"),
)


def turn(me: str = "ann", *, heard: Sequence[tuple[str, str]] = (), **changes: Any) -> TurnContext:
    """Return a turn in a round robin of Ann, Bob and Cleo.

    Args:
        me: participant whose turn it is.
        heard: earlier messages, as pairs of participant and text.
        changes: other fields of `TurnContext`.
    """
    fields: dict[str, Any] = {
        "session_id": "3f0c8f55-6f0c-4a58-9c2f-0a4d8b0f6a01",
        "mode": CollabMode.ROUND_ROBIN,
        "title": "A title",
        "purpose": "Find a name",
        "me": next(p for p in ROSTER if p.participant_id == me),
        "roster": ROSTER,
        "messages": tuple(_message(number, *said) for number, said in enumerate(heard, 1)),
        "turn_number": len(heard) + 1,
        "timeout_s": 30.0,
    }
    mode = mode_of((fields | changes)["mode"])
    of_mode = {"mode_prompt": mode.prompt, "one_turn_each": mode.one_turn_each}
    return TurnContext.model_validate(of_mode | fields | changes)


def _message(number: int, speaker: str, content: str) -> Message:
    return build_turn_message(
        Role.AGENT,
        content,
        timestamp=BEGIN + timedelta(seconds=number),
        participant_id=speaker,
        turn_number=number,
        token_id="token",  # noqa: S106 - not a secret, the id of a grant
        fence=number,
    )


def model_agent(model: Model, **llm_settings: Any) -> LLMAgent:
    """Return an agent that uses `model`.

    Args:
        model: the model.
        llm_settings: fields of `symposia.agents.llm.settings.LLMSettings`.
    """
    return LLMAgent(lambda: [ModelSource(model)], LLMSettings(**llm_settings))


def speak(agent: AnyAgent, context: TurnContext, *, turn_services: TurnServices | None = None) -> TurnOutcome:
    """Run a turn as a worker does, and return its outcome.

    Args:
        agent: the agent under test.
        context: the turn.
        turn_services: services of the turn; None: services in memory.

    Raises:
        AgentError: the turn failed.
    """
    runner = AgentRunner()
    try:
        return runner.start(agent, context, timeout_s=context.timeout_s, turn_services=turn_services).result()
    finally:
        runner.close()
