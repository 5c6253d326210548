"""Tests of the rules for all agents, as a base class.

    from symposia.testing.conformance import AgentConformance

    class TestMyAgent(AgentConformance):
        @pytest.fixture
        def agent(self):
            return MyAgent()

The agent must be able to take any of these turns. The content of its answers is not tested.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ..agents.agent import AnyAgent
from ..models.protocol.collab import CollabMode
from ..models.turns.turn import Expects, TurnContext, TurnOutcome
from .agents import speak, turn

TakeTurn = Callable[[TurnContext], TurnOutcome]


class AgentConformance:
    """Conformance tests of an agent; a subclass defines the fixture `agent`."""

    @pytest.fixture
    def agent(self) -> AnyAgent:
        """Return the agent under test."""
        raise NotImplementedError("define a fixture `agent` that returns the agent under test")

    @pytest.fixture
    def spoken(self, agent: AnyAgent) -> TakeTurn:
        """Return a function that runs a turn as a worker does, with a checked outcome or an AgentError."""
        return lambda context: speak(agent, context)

    @pytest.mark.parametrize("mode", CollabMode)
    @pytest.mark.parametrize("expects", Expects)
    def test_answers_in_every_mode(self, spoken: TakeTurn, mode: CollabMode, expects: Expects) -> None:
        """Check for an output in every mode; text is enough, because decisions are read from it."""
        outcome = spoken(turn(mode=mode, expects=expects, heard=[("bob", "hello")]))
        assert has_output(outcome)

    def test_answers_an_empty_dialog(self, spoken: TakeTurn) -> None:
        """Check the first turn of a session."""
        assert has_output(spoken(turn()))

    def test_keeps_no_state(self, spoken: TakeTurn) -> None:
        """Check that turns are independent: the next one may run in another process or session."""
        first = spoken(turn())
        other = turn("bob", session_id="8a4d9a52-31ff-4c3b-a1f1-08c1c1b1b6c2", turn_number=9)
        assert has_output(spoken(other))
        assert spoken(turn()) == first

    def test_answers_in_parallel(self, spoken: TakeTurn) -> None:
        """Check turns in parallel threads."""
        outcomes: list[TurnOutcome] = []
        threads = [
            threading.Thread(target=lambda me=me: outcomes.append(spoken(turn(me))))
            for me in ("ann", "bob", "cleo") * 5
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(outcomes) == len(threads)
        assert all(has_output(outcome) for outcome in outcomes)

    def test_does_not_change_the_turn(self, spoken: TakeTurn) -> None:
        """Check that the context is unchanged: the caller uses it, too."""
        context = turn(heard=[("bob", "hello")])
        before = context.model_copy(deep=True)
        spoken(context)
        assert context == before


def has_output(outcome: TurnOutcome) -> bool:
    """Return whether an outcome has text, a decision, a hand-off, work items, a question or a pass."""
    spoken = any(draft.content.strip() for draft in outcome.messages)
    did = outcome.decision or outcome.hand_off or outcome.items or outcome.question
    return bool(spoken or did or outcome.passed)
