"""A question at the end of a text to a person of the roster."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.directives import read_directives
from symposia.models.protocol.collab import CollabMode, Participant
from symposia.models.turns.turn import TurnContext, TurnOutcome

ROSTER = (
    Participant(participant_id="ann"),
    Participant(participant_id="ben", display_name="Ben K.", kind="human"),
    Participant(participant_id="cleo"),
)


def read(text, *, me="ann", **more):
    context = TurnContext(
        session_id="3f0c8f55-6f0c-4a58-9c2f-0a4d8b0f6a01",
        mode=more.pop("mode", CollabMode.ROUND_ROBIN),
        title="t",
        purpose="p",
        me=next(p for p in ROSTER if p.participant_id == me),
        roster=ROSTER,
        turn_number=1,
        **more,
    )
    return read_directives(context, TurnOutcome.say(text))


@pytest.mark.parametrize(
    "text",
    [
        "ASK ben: May I delete it?",
        "ASK Ben K.: May I delete it?",
        "ASK BEN: May I delete it?",
        "**ASK ben:** May I delete it?",
        "- ASK @ben: May I delete it?",
        "ASK ben:\nMay I delete it?",
    ],
)
@pytest.mark.parametrize("mode", CollabMode)
def test_a_person_is_asked_in_every_mode(text, mode):
    outcome = read(text, mode=mode)
    assert outcome.question is not None
    assert (outcome.question.to, outcome.question.text) == ("ben", "May I delete it?")
    assert outcome.messages == ()


def test_text_before_and_after_ask_is_split():
    outcome = read("I looked.\n\nASK ben: May I delete it?\nIt is old.")
    assert [draft.content for draft in outcome.messages] == ["I looked."]
    assert outcome.question.text == "May I delete it?\nIt is old."


@pytest.mark.parametrize(
    "text",
    [
        "ASK cleo: you are no person",
        "ASK zed: who are you?",
        "ASK ben:",
        "ASK ben what he thinks",
        "ask ben: quietly",
        "We could ASK ben: some day",
        "```\nASK ben: in code\n```",
    ],
)
def test_other_text_is_no_question(text):
    outcome = read(text)
    assert outcome.question is None
    assert outcome.messages[0].content == text


def test_person_cannot_ask_with_a_directive():
    assert read("ASK ben: myself?", me="ben").question is None


@given(st.text(st.sampled_from("ASK ben:\n`*x "), max_size=200))
def test_any_text_is_read(text):
    if text.strip():
        read(text)
