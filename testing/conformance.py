"""Behaviour common to all agents: a class of tests to inherit.

    from symposia.testing.conformance import AgentConformance

    class TestMyAgent(AgentConformance):
        @pytest.fixture
        def agent(self):
            return MyAgent()

The agent must be able to take any turn it is given here; what it says is its own affair.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ..agents.agent import AnyAgent
from ..models.protocol.collab import CollabMode
from ..models.turns.turn import Expects, TurnContext, TurnOutcome
from .turns import speak, turn

TakeTurn = Callable[[TurnContext], TurnOutcome]


class AgentConformance:
    """The suite; a subclass gives the fixture `agent`."""

    @pytest.fixture
    def agent(self) -> AnyAgent:
        """The agent under test."""
        raise NotImplementedError("define a fixture `agent` that returns the agent under test")

    @pytest.fixture
    def spoken(self, agent: AnyAgent) -> TakeTurn:
        """Takes turns as a worker does: the outcome is checked, and an error is one of the agent tree."""
        return lambda context: speak(agent, context)

    @pytest.mark.parametrize("mode", CollabMode)
    @pytest.mark.parametrize("expects", Expects)
    def test_answers_in_every_mode(self, spoken: TakeTurn, mode: CollabMode, expects: Expects) -> None:
        """Text at least: what it means is read from it."""
        outcome = spoken(turn(mode=mode, expects=expects, heard=[("bob", "hello")]))
        assert has_output(outcome)

    def test_answers_an_empty_dialog(self, spoken: TakeTurn) -> None:
        """The first turn of a session."""
        assert has_output(spoken(turn()))

    def test_keeps_no_state(self, spoken: TakeTurn) -> None:
        """The next turn may run in another process, and be another session's."""
        first = spoken(turn())
        other = turn("bob", session_id="8a4d9a52-31ff-4c3b-a1f1-08c1c1b1b6c2", turn_number=9)
        assert has_output(spoken(other))
        assert spoken(turn()) == first

    def test_answers_in_parallel(self, spoken: TakeTurn) -> None:
        """From as many threads."""
        said: list[TurnOutcome] = []
        threads = [
            threading.Thread(target=lambda me=me: said.append(spoken(turn(me))))
            for me in ("ann", "bob", "cleo") * 5
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(said) == len(threads)
        assert all(has_output(outcome) for outcome in said)

    def test_does_not_change_the_turn(self, spoken: TakeTurn) -> None:
        """A turn is shared with its caller."""
        context = turn(heard=[("bob", "hello")])
        before = context.model_copy(deep=True)
        spoken(context)
        assert context == before


def has_output(outcome: TurnOutcome) -> bool:
    """Whether a turn brought words, a decision, work, a question or a pass."""
    spoken = any(draft.content.strip() for draft in outcome.messages)
    did = outcome.decision or outcome.hand_off or outcome.items or outcome.question
    return bool(spoken or did or outcome.passed)
