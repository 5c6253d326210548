"""A rolling summary of older messages: nothing is repeated and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.agents.agent import InMemoryCallJournal, InMemoryNotes, TurnServices
from symposia.agents.llm.context import (
    Summary,
    extend_summary,
    remaining_tokens,
    split_dialog,
)
from symposia.models.protocol.dialog import message_digest
from symposia.models.turns.message_lists import estimate_tokens
from symposia.models.turns.turn import RemainingBudget
from symposia.testing import ScriptedModel, model_agent, speak, turn

TEXT = "x" * 40  # ten tokens


def heard(count):
    return [("bob", f"{number:03} {TEXT}") for number in range(1, count + 1)]


class Talk:
    """Turns of Ann, in a dialog that grows; with the notes of one session."""

    def __init__(self, *replies, **manner):
        self.model = ScriptedModel(*replies)
        self.notes = InMemoryNotes()
        manner = {"summary": True, "context_tokens": 50} | manner
        self._agent = model_agent(self.model, **manner)

    def speak(self, count, *, journal=None, **changes):
        desk = TurnServices(journal or InMemoryCallJournal(), notes=self.notes)
        return speak(self._agent, turn(heard=heard(count), **changes), turn_services=desk)

    def told(self, at):
        """The numbers of the messages that went along with one request, and the rest of its text."""
        text = str(self.model.asked[at].messages)
        return [number for number in range(1, 100) if f"{number:03} {TEXT}" in text], text


def test_short_dialog_needs_no_summary():
    talk = Talk("fine")
    assert talk.speak(4).left_out == 0
    assert len(talk.model.asked) == 1
    assert talk.notes.note is None


def test_older_half_of_a_dialog_is_summarized():
    talk = Talk("Bob counted to four.", "fine")
    outcome = talk.speak(6)
    folded, _ = talk.told(0)
    kept, shown = talk.told(1)
    assert folded + kept == [1, 2, 3, 4, 5, 6]
    assert "What was said before, in short: Bob counted to four." in shown
    assert talk.model.asked[0].system.startswith("You keep the minutes")
    assert (outcome.messages[0].content, outcome.usage.requests, outcome.left_out) == ("fine", 2, len(folded))


def test_next_turn_reuses_the_summary_while_it_fits():
    talk = Talk("early minutes", "fine", "fine", "later minutes", "fine")
    talk.speak(6)
    talk.speak(7)
    assert len(talk.model.asked) == 3, "what was said since fits beside the summary"
    talk.speak(12)
    folded, asked = talk.told(3)
    assert "Minutes so far: early minutes" in asked
    assert min(folded) == 5, "what the first summary covers is not told again"
    assert "later minutes" in talk.told(4)[1]


def test_requested_summary_is_not_requested_again():
    talk, journal = Talk("minutes", "fine"), InMemoryCallJournal()
    first = talk.speak(6, journal=journal)
    talk.notes.note = None
    assert talk.speak(6, journal=journal) == first
    assert len(talk.model.asked) == 2


def test_token_limit_prevents_a_summary():
    talk = Talk("fine")
    outcome = talk.speak(6, remaining=RemainingBudget(tokens=100))
    assert len(talk.model.asked) == 1
    assert outcome.left_out > 0


def test_oldest_messages_are_omitted_without_a_summary():
    talk = Talk("fine", summary=False)
    assert talk.speak(6).left_out == 2
    assert talk.told(0)[0] == [3, 4, 5, 6]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(20, 300), st.data())
def test_each_message_is_covered_summarized_or_shown(sizes, max_tokens, data):
    dialog = turn(heard=[("bob", "x" * size) for size in sizes]).messages
    summary, grown = Summary(), 0
    while grown < len(dialog):
        grown = data.draw(st.integers(grown + 1, len(dialog)))
        parts = split_dialog(dialog[:grown], summary, max_tokens=max_tokens)
        assert summary.covered + len(parts.to_summarize) + len(parts.to_show) == grown
        assert list(parts.to_show) == list(dialog[grown - len(parts.to_show) : grown])
        if parts.to_summarize:
            text = "m" * data.draw(st.integers(0, 4 * max_tokens))
            summary = extend_summary(summary, parts.to_summarize, text)
            assert summary.until == message_digest(dialog[summary.covered - 1])
        else:
            kept = sum(estimate_tokens(message.content) for message in parts.to_show)
            assert kept <= remaining_tokens(summary, max_tokens) or len(parts.to_show) == 1


@pytest.mark.parametrize("window", [1, 3])
def test_lost_summary_position_makes_all_messages_new(window):
    dialog = turn(heard=heard(8)).messages
    summary = Summary(text="early", until=message_digest(dialog[0]), covered=1)
    parts = split_dialog(dialog[-window:], summary, max_tokens=1_000)
    assert list(parts.to_show) == list(dialog[-window:])
