"""Memory directives in the text of an agent, and the memory part of a prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.directives import read_directives
from symposia.models.memory.forms import service_forms
from symposia.models.memory.learned import Learned, read_remarks
from symposia.models.memory.recall import MemoryView
from symposia.models.memory.services import find_service
from symposia.models.prompts.layout import build_prompt
from symposia.models.protocol.collab import CollabMode, Participant
from symposia.models.turns.turn import TurnContext, TurnOutcome

ANN = Participant(participant_id="ann")
VIEW = MemoryView(
    service="travel",
    parameters={"from": "Nairobi", "passenger_count": 2},
    missing=("to",),
    ask=("to", "from"),
)


def turn(memory: MemoryView | None) -> TurnContext:
    return TurnContext(
        session_id="s",
        mode=CollabMode.ROUND_ROBIN,
        title="t",
        purpose="p",
        me=ANN,
        roster=(ANN,),
        turn_number=1,
        memory=memory,
    )


def learned(text: str) -> Learned | None:
    return read_directives(turn(VIEW), TurnOutcome.say(text)).learned


def test_memory_lines_of_an_answer_are_read():
    text = """Certainly, I have noted that.
SERVICE: travel
REMEMBER from: Nairobi
- **REMEMBER to:** London
REMEMBER passenger_names: ["John Doe"]
REMEMBER cabin class = business
FORGET: return_date, `max_price`"""
    assert learned(text) == Learned(
        service="travel",
        parameters={
            "from": "Nairobi",
            "to": "London",
            "passenger_names": ["John Doe"],
            "cabin class": "business",
        },
        forget=("return_date", "max_price"),
    )


@pytest.mark.parametrize(
    "text",
    [
        *("Remember from: Nairobi", "I REMEMBER from: Nairobi", "REMEMBER: me", "REMEMBER from Nairobi"),
        *(
            "```\nREMEMBER from: Nairobi\n```\nfine",
            "SERVICE",
            "FORGET:",
            "FORGET about: it",
        ),
    ],
)
def test_other_lines_are_not_memory_lines(text):
    assert learned(text) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("REMEMBER to: [1, 2", "REMEMBER to: must be text, or JSON that is complete (got [1, 2)"),
        (f"REMEMBER {'n' * 80}: x", "must be a parameter name of at most 64 printable characters"),
        ("REMEMBER phone: [+254712345678", "(got ****5678)"),
    ],
)
def test_line_that_cannot_be_read_is_reported(text, fault):
    read = learned(f"{text}\nREMEMBER from: Nairobi")
    assert read is not None
    assert read.parameters == {"from": "Nairobi"}
    assert len(read.unreadable) == 1
    assert fault in read.unreadable[0]


def test_directive_lines_stay_in_the_message():
    outcome = read_directives(turn(VIEW), TurnOutcome.say("REMEMBER from: Nairobi"))
    assert [message.content for message in outcome.messages] == ["REMEMBER from: Nairobi"]


def test_nothing_is_read_without_memory():
    assert read_directives(turn(None), TurnOutcome.say("REMEMBER from: Nairobi")).learned is None


def test_explicit_learned_values_replace_memory_lines():
    mine = Learned(parameters={"to": "Oslo"})
    outcome = TurnOutcome.say("REMEMBER to: Paris").model_copy(update={"learned": mine})
    assert read_directives(turn(VIEW), outcome).learned == mine


@given(st.text() | st.text("REMBERFOGTSVIC :=[]{}*`ab\n", max_size=200))
def test_any_text_is_read(text):
    assert isinstance(read_remarks(text.splitlines()), Learned | None)


def test_many_remarks_are_bounded():
    lines = [f"REMEMBER p{n}: {n}" for n in range(5_000)] + [
        f"FORGET: {', '.join(f'q{n}' for n in range(500))}"
    ]
    found = read_remarks(lines)
    assert found is not None
    assert (len(found.parameters), len(found.forget)) == (100, 100)


def test_prompt_has_known_and_missing_parameters():
    view = VIEW.changed(forms=service_forms([find_service("travel")]))
    prompt = build_prompt(turn(view), "", structured=False)
    assert "\nThe user is speaking of travel.\nKnown: from Nairobi (unsure" in prompt.turn
    assert "FORGET: round_trip" in prompt.participant


def test_prompt_without_memory_does_not_mention_it():
    prompt = build_prompt(turn(None), "", structured=False)
    assert "REMEMBER" not in prompt.participant
    assert "Known about" not in prompt.turn
