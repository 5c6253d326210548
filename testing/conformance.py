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

from ..agents.agent import Speaker
from ..models.protocol.collab import CollabMode
from ..models.turns.turn import Expects, TurnContext, TurnOutcome
from .speaking import speak, turn

Spoken = Callable[[TurnContext], TurnOutcome]


class AgentConformance:
    """The suite; a subclass gives the fixture `agent`."""

    @pytest.fixture
    def agent(self) -> Speaker:
        """The agent under test."""
        raise NotImplementedError("define a fixture `agent` that returns the agent under test")

    @pytest.fixture
    def spoken(self, agent: Speaker) -> Spoken:
        """Takes turns as a worker does: the outcome is checked, and an error is one of the agent tree."""
        return lambda context: speak(agent, context)

    @pytest.mark.parametrize("mode", CollabMode)
    @pytest.mark.parametrize("expects", Expects)
    def test_it_speaks_in_every_mode_whatever_is_expected(
        self, spoken: Spoken, mode: CollabMode, expects: Expects
    ) -> None:
        """Text at least: what it means is read from it."""
        outcome = spoken(turn(mode=mode, expects=expects, heard=[("bob", "hello")]))
        assert says_something(outcome)

    def test_it_may_speak_when_nothing_has_been_said(self, spoken: Spoken) -> None:
        """The first turn of a session."""
        assert says_something(spoken(turn()))

    def test_it_keeps_nothing_from_one_turn_to_the_next(self, spoken: Spoken) -> None:
        """The next turn may run in another process, and be another session's."""
        first = spoken(turn())
        other = turn("bob", session_id="8a4d9a52-31ff-4c3b-a1f1-08c1c1b1b6c2", turn_number=9)
        assert says_something(spoken(other))
        assert spoken(turn()) == first

    def test_it_speaks_for_many_sessions_at_once(self, spoken: Spoken) -> None:
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
        assert all(says_something(outcome) for outcome in said)

    def test_it_leaves_the_turn_it_was_given_as_it_was(self, spoken: Spoken) -> None:
        """A turn is shared with its caller."""
        context = turn(heard=[("bob", "hello")])
        before = context.model_copy(deep=True)
        spoken(context)
        assert context == before


def says_something(outcome: TurnOutcome) -> bool:
    """Whether a turn brought words, a decision, work, a question or a pass."""
    spoken = any(draft.content.strip() for draft in outcome.messages)
    did = outcome.decision or outcome.hand_off or outcome.items or outcome.question
    return bool(spoken or did or outcome.passed)
