"""What agents are tested with: messages, turns and a runner."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from symposia.agents.execution.runner import AgentRunner
from symposia.models.modes import mode_of, with_position
from symposia.models.protocol.collab import CollabMode, Participant
from symposia.models.protocol.dialog import Message, Role, build_turn_message
from symposia.models.text.ids import utcnow
from symposia.models.turns.turn import TurnContext

ROSTER = (
    Participant(participant_id="ann", display_name="Ann", role_id="coder"),
    Participant(participant_id="bob", display_name="Bob"),
    Participant(participant_id="cleo"),
)


@pytest.fixture
def message() -> Callable[..., Message]:
    def make(speaker: str, content: str, turn_number: int = 1) -> Message:
        return build_turn_message(
            Role.AGENT,
            content,
            timestamp=utcnow(),
            participant_id=speaker,
            turn_number=turn_number,
            token_id="token",
            fence=turn_number,
        )

    return make


@pytest.fixture
def turn() -> Callable[..., TurnContext]:
    """Create turns of Ann, by default in a round robin with Bob and Cleo."""

    def make(me: str = "ann", **changes: object) -> TurnContext:
        fields: dict[str, object] = {
            "session_id": "3f0c8f55-6f0c-4a58-9c2f-0a4d8b0f6a01",
            "mode": CollabMode.ROUND_ROBIN,
            "title": "A title",
            "purpose": "Find a name",
            "me": next(p for p in ROSTER if p.participant_id == me),
            "roster": ROSTER,
            "turn_number": 1,
        }
        mode = mode_of(str((fields | changes)["mode"]))
        of_mode = {"one_turn_each": mode.one_turn_each}
        return with_position(TurnContext.model_validate(of_mode | fields | changes))

    return make


@pytest.fixture
def runner() -> Iterator[AgentRunner]:
    runner = AgentRunner()
    yield runner
    runner.close()
