"""Dialogs that no longer fit: a cut, or a rolling summary of older messages, and the prefix that requests share."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling import patient
from symposia.agents.agent import InMemoryCallJournal, InMemoryNotes, TurnServices
from symposia.agents.llm.context import LEFT_OUT, DialogCut, DialogLimits, split_dialog
from symposia.models.protocol.dialog import Message, Role, message_digest
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
        services = TurnServices(journal or InMemoryCallJournal(), notes=self.notes)
        return speak(self._agent, turn(heard=heard(count), **changes), turn_services=services)

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
    assert min(folded) == 6, "what the first summary covers is not told again"
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


def test_older_half_is_omitted_without_a_summary():
    talk = Talk("fine", summary=False)
    assert talk.speak(6).left_out == 5
    assert talk.told(0)[0] == [6]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(20, 300), st.data())
def test_each_message_is_covered_summarized_or_shown(sizes, max_tokens, data):
    dialog = turn(heard=[("bob", "x" * size) for size in sizes]).messages
    cut, grown, limits = DialogCut(), 0, DialogLimits(max_tokens)
    while grown < len(dialog):
        grown = data.draw(st.integers(grown + 1, len(dialog)))
        parts = split_dialog(dialog[:grown], cut, limits)
        assert cut.covered + len(parts.to_leave_out) + len(parts.to_show) == grown
        assert list(parts.to_show) == list(dialog[grown - len(parts.to_show) : grown])
        if parts.to_leave_out:
            cut = cut.moved(parts.to_leave_out, "m" * data.draw(st.integers(0, 4 * max_tokens)))
            assert cut.until == message_digest(dialog[cut.covered - 1])
        else:
            kept = sum(estimate_tokens(message.content) for message in parts.to_show)
            assert kept <= cut.remaining_tokens(max_tokens) or len(parts.to_show) == 1


@pytest.mark.parametrize("window", [1, 3])
def test_lost_cut_makes_all_messages_new(window):
    dialog = turn(heard=heard(8)).messages
    cut = DialogCut(text="early", until=message_digest(dialog[0]), covered=1)
    parts = split_dialog(dialog[-window:], cut, DialogLimits(1_000))
    assert list(parts.to_show) == list(dialog[-window:])


#: Each allows about 100 of the messages of a long dialog.
LONG = [
    pytest.param({"context_tokens": 4_000}, id="tokens"),
    pytest.param({"window": 100, "context_tokens": 10**6}, id="window"),
    pytest.param({"context_tokens": 4_000, "summary": True}, id="summary"),
    pytest.param({"context_tokens": 4_000, "plain": True}, id="plain"),
]


class LongDialog:
    """Two agents who speak in turns after the opening of a user."""

    def __init__(self, runner, **settings):
        self.model, self.notes, self.settings = ScriptedModel("minutes"), InMemoryNotes(), settings
        self._agent, self._runner = model_agent(self.model, **settings), runner
        said = [("ann" if number % 2 else "bob", f"{number:03} {'x' * 156}") for number in range(220)]
        opening = Message(role=Role.USER, content="Find a name for a lamp shop.")
        self.messages = (opening, *turn(heard=said).messages)

    def request(self, count):
        """Return the text of Ann's request after `count` messages, and the number of those left out."""
        given = self.messages[:count][-self.settings.get("window", 0) :]
        context = turn(messages=given, turn_number=count)
        services = TurnServices(InMemoryCallJournal(), notes=self.notes)
        running = self._runner.start(self._agent, context, timeout_s=patient(30), turn_services=services)
        left_out, asked = running.result().left_out, self.model.asked[-1]
        parts = [str(part.content) for message in asked.messages for part in message.parts]
        return "\n\n".join([asked.system, *parts]), left_out


@pytest.mark.parametrize("settings", LONG)
def test_only_cuts_change_what_was_sent(runner, settings):
    dialog = LongDialog(runner, **settings)
    before, shares, cuts = dialog.request(79)[0], [], 0
    for count in range(81, len(dialog.messages), 2):
        note = dialog.notes.note
        now, left_out = dialog.request(count)
        if dialog.notes.note == note:
            said = before.rpartition("\n" if settings.get("plain") else "\n\n")[0].rstrip()
            assert now.startswith(said)
        else:
            cuts += 1
            assert dialog.request(count) == (now, left_out), "another worker sends the same request"
        shares.append(len(os.path.commonprefix([before, now])) / len(now))  # noqa: RUF071 - these are no paths
        before = now
        shown = [message.content in now for message in dialog.messages[:count]]
        assert left_out + sum(shown) == count
        assert 44 <= sum(shown) <= 101
        if not settings.get("summary"):
            assert shown[0], "the opening is kept"
            assert (LEFT_OUT in now) == (left_out > 0)
    assert 2 <= cuts <= 4
    assert sum(shares) / len(shares) >= 0.9
