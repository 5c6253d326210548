"""Dialogs that no longer fit: cuts, minutes of what is left out, and the beginning that requests share."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelRequestRejectedError
from pydantic_ai.messages import CachePoint

from scaling import patient
from symposia.agents.agent import InMemoryCallJournal, InMemoryNotes, TurnServices
from symposia.agents.llm.cuts import NO_CUT, Block, DialogCut, DialogLimits, shorten, split_dialog
from symposia.models.errors import AgentFailed
from symposia.models.protocol.dialog import Message, Role, message_digest
from symposia.models.turns.turn import RemainingBudget
from symposia.testing import ScriptedModel, model_agent, speak, turn

TEXT = "x" * 396  # a hundred tokens with its number, and up to twenty around it


def heard(count):
    return [("bob", f"{number:03} {TEXT}") for number in range(1, count + 1)]


def blocks_of(asked):
    """Return the system prompt and the blocks of a request, without cache points."""
    parts = [part.content for message in asked.messages for part in message.parts]
    blocks = [block for part in parts for block in ([part] if isinstance(part, str) else part)]
    return [asked.system, *(block for block in blocks if not isinstance(block, CachePoint))]


class Talk:
    """Turns of Ann, in a dialog that grows; with the notes of one session. Four messages fit."""

    def __init__(self, *replies, **manner):
        self.model = ScriptedModel(*replies)
        self.notes = InMemoryNotes()
        manner = {"summary": True, "context_tokens": 500} | manner
        self._agent = model_agent(self.model, **manner)

    def speak(self, count, *, journal=None, **changes):
        services = TurnServices(journal or InMemoryCallJournal(), notes=self.notes)
        messages = {"heard": heard(count)} if "messages" not in changes else {"turn_number": count + 1}
        return speak(self._agent, turn(**messages, **changes), turn_services=services)

    def shown(self, at):
        """Return the numbers of the messages in one request, and its text."""
        text = "\n\n".join(blocks_of(self.model.asked[at]))
        return [number for number in range(1, 100) if f"{number:03} {TEXT}" in text], text


def test_short_dialog_needs_no_minutes():
    talk = Talk("fine")
    assert talk.speak(4).left_out == 0
    assert len(talk.model.asked) == 1
    assert talk.notes.note is None


def test_older_half_of_a_dialog_is_left_out_with_minutes():
    talk = Talk("Bob counted to <four>.", "fine")
    outcome = talk.speak(6)
    assert talk.shown(0)[0] == [1, 2, 3, 4]
    kept, text = talk.shown(1)
    assert kept == [5, 6]
    assert "Minutes of turns 1 to 4, which are left out: Bob counted to" in text
    assert (outcome.messages[0].content, outcome.usage.requests, outcome.left_out) == ("fine", 2, 4)


def test_minutes_are_requested_after_the_same_beginning():
    talk = Talk("fine", "minutes", "fine")
    talk.speak(4)
    talk.speak(6)
    earlier, minutes = blocks_of(talk.model.asked[0]), blocks_of(talk.model.asked[1])
    assert minutes[: len(earlier) - 1] == earlier[:-1]
    assert "The messages up to turn 4 will be left out." in minutes[-1]


def test_next_turn_reuses_the_minutes_while_they_fit():
    talk = Talk("early minutes", "fine", "fine", "later minutes", "fine")
    talk.speak(6)
    talk.speak(7)
    assert len(talk.model.asked) == 3
    talk.speak(12)
    left_out, text = talk.shown(3)
    assert "which are left out: early minutes" in text
    assert min(left_out) == 5
    assert "later minutes" in talk.shown(4)[1]


def test_requested_minutes_are_not_requested_again():
    talk, journal = Talk("minutes", "fine"), InMemoryCallJournal()
    first = talk.speak(6, journal=journal)
    talk.notes.note = None
    assert talk.speak(6, journal=journal) == first
    assert len(talk.model.asked) == 2


def test_refused_minutes_leave_a_count():
    talk = Talk(ModelRequestRejectedError("scripted", "no"), "fine")
    assert talk.speak(6).left_out == 4
    assert "4 earlier messages (turns 1 to 4) are left out." in talk.shown(1)[1]


def test_token_limit_prevents_minutes():
    talk = Talk("fine")
    outcome = talk.speak(6, remaining=RemainingBudget(tokens=1_000))
    assert len(talk.model.asked) == 1
    assert outcome.left_out > 0


def test_older_half_is_left_out_without_minutes():
    talk = Talk("fine", summary=False)
    assert talk.speak(6).left_out == 4
    shown, text = talk.shown(0)
    assert shown == [5, 6]
    assert "4 earlier messages (turns 1 to 4) are left out." in text


def test_newest_message_of_a_person_stays():
    said = list(turn(heard=heard(12)).messages)
    wishes = [Message(role=Role.USER, content=f"Wish {number}.") for number in (1, 2)]
    talk = Talk("fine", summary=False)
    talk.speak(8, messages=(said[0], *wishes, *said[1:6]))
    assert "Wish 2." in talk.shown(0)[1]
    assert "Wish 1." not in talk.shown(0)[1]
    assert talk.speak(14, messages=(said[0], *wishes, *said[1:])).left_out > 6
    assert "Wish 2." in talk.shown(1)[1]


def test_message_with_the_instruction_stays():
    said = turn(heard=[("bob", "ann: count the pages"), *heard(6)]).messages
    talk = Talk("fine", summary=False)
    talk.speak(7, messages=said, instruction="count the pages")
    assert "ann: count the pages" in talk.shown(0)[1]


def test_long_message_keeps_its_beginning_and_its_end():
    text = f"begin {'x' * 9_000} end"
    short = shorten(text, 100)
    assert short.startswith("begin")
    assert short.endswith("end")
    assert "tokens left out]" in short
    assert len(short) < 500
    assert shorten("short", 100) == "short"


TOO_LONG = ModelContextWindowExceededError("scripted", "maximum context length")


def test_request_that_is_too_long_is_halved_from_then_on():
    talk = Talk(TOO_LONG, "fine", "fine", summary=False)
    assert talk.speak(4).left_out == 3
    assert talk.shown(1)[0] == [4]
    assert talk.speak(5).left_out == 3
    assert talk.shown(2)[0] == [4, 5]


def test_request_that_stays_too_long_fails():
    talk = Talk(TOO_LONG, TOO_LONG, summary=False)
    with pytest.raises(AgentFailed, match="maximum context length"):
        talk.speak(4)
    assert len(talk.model.asked) == 2


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(20, 300), st.data())
def test_each_message_is_covered_or_shown(sizes, max_tokens, data):
    said = turn(heard=[("bob", "x" * size) for size in sizes]).messages
    dialog = [Block(message, message, False, message.content, len(message.content)) for message in said]
    cut, grown, limits = NO_CUT, 0, DialogLimits(max_tokens)
    while grown < len(dialog):
        grown = data.draw(st.integers(grown + 1, len(dialog)))
        parts = split_dialog(dialog[:grown], cut, limits)
        assert cut.covered + len(parts.to_leave_out) + len(parts.to_show) == grown
        assert list(parts.to_show) == list(dialog[grown - len(parts.to_show) : grown])
        if parts.to_leave_out:
            cut = cut.moved(parts.to_leave_out, "m" * data.draw(st.integers(0, 4 * max_tokens)))
            assert cut.until == message_digest(said[cut.covered - 1])
        else:
            kept = sum(block.tokens for block in parts.to_show)
            assert kept <= cut.remaining_tokens(max_tokens) or len(parts.to_show) == 1


@pytest.mark.parametrize("window", [1, 3])
def test_lost_cut_makes_all_messages_new(window):
    talk = Talk("fine")
    said = turn(heard=heard(8)).messages
    talk.notes.note = DialogCut(text="early", until=message_digest(said[0]), covered=1).model_dump_json()
    talk.speak(8, messages=said[-window:])
    assert talk.shown(0)[0] == list(range(9 - window, 9))


def test_notes_of_the_first_release_are_read():
    old = {
        "text": "",
        "until": message_digest(turn(heard=heard(8)).messages[5]),
        "covered": 5,
        "opening": "Hi",
    }
    talk = Talk("fine")
    talk.notes.note = json.dumps(old)
    assert talk.speak(8).left_out == 5
    assert talk.shown(0)[0] == [7, 8]


def test_messages_of_one_turn_stay_together():
    said = turn(heard=heard(6)).messages
    two = said[4].changed(event=said[3].event)  # the fourth and the fifth message belong to one turn
    blocks = [Block(message, message, False, "", 100) for message in (*said[:4], two, said[5])]
    parts = split_dialog(blocks, NO_CUT, DialogLimits(400))
    assert [block.message for block in parts.to_show] == [said[5]]


#: Each allows about 100 of the messages of a long dialog.
LONG = [
    pytest.param({"context_tokens": 6_000}, id="tokens"),
    pytest.param({"window": 100, "context_tokens": 10**6}, id="window"),
    pytest.param({"context_tokens": 6_000, "summary": True}, id="minutes"),
    pytest.param({"context_tokens": 6_000, "plain": True}, id="plain"),
]


class LongDialog:
    """Two agents who speak in turns after the opening of a user."""

    def __init__(self, runner, **settings):
        self.model, self.notes, self.settings = ScriptedModel("minutes"), InMemoryNotes(), settings
        self._agent, self._runner = model_agent(self.model, **settings), runner
        said = [("ann" if number % 2 else "bob", f"{number:03} {'x' * 156}") for number in range(220)]
        self.opening = Message(role=Role.USER, content="Find a name for a lamp shop.")
        self.messages = (self.opening, *turn(heard=said).messages)

    def request(self, count):
        """Return the blocks of Ann's request after `count` messages, and the number of those left out."""
        given = self.messages[:count][-self.settings.get("window", 0) :]
        context = turn(messages=given, opening=(self.opening,), turn_number=count)
        services = TurnServices(InMemoryCallJournal(), notes=self.notes)
        running = self._runner.start(self._agent, context, timeout_s=patient(30), turn_services=services)
        left_out = running.result().left_out
        return blocks_of(self.model.asked[-1]), left_out


def shared_share(before, now):
    """Return the share of a request that is in the blocks with which the one before it began, too."""
    shared = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        shared += len(one)
    return shared / sum(map(len, now))


@pytest.mark.parametrize("settings", LONG)
def test_only_cuts_change_what_was_sent(runner, settings):
    dialog = LongDialog(runner, **settings)
    is_plain = settings.get("plain")
    before, shares, cuts = dialog.request(79)[0], [], 0
    for count in range(81, len(dialog.messages), 2):
        note = dialog.notes.note
        now, left_out = dialog.request(count)
        if is_plain:
            now = [now[0], *(f"{line}\n" for line in now[1].splitlines())]
        if dialog.notes.note == note:
            unchanged = len(before) - (4 if is_plain else 1)
            assert now[:unchanged] == before[:unchanged] or count == 81
        else:
            cuts += 1
        shares.append(shared_share(before, now))
        before = now
        shown = [message.content in "".join(now) for message in dialog.messages[1:count]]
        assert left_out + sum(shown) == count - 1
        assert 43 <= sum(shown) <= 125
        assert ("left out" in "".join(now)) == (left_out > 0)
    assert 2 <= cuts <= 4
    assert sum(shares[1:]) / len(shares[1:]) >= 0.9


def test_note_has_only_fields_that_earlier_releases_know():
    cut = DialogCut(text="So far.", until="digest", covered=3, tokens=900, person="<message>", asked="Go on.")
    assert json.loads(cut.to_note()).keys() <= {"text", "until", "covered", "opening"}
    assert DialogCut.from_note(cut.to_note()) == cut
