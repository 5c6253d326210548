"""What an agent means, read from plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.directives import read_directives
from symposia.models.protocol.collab import CollabMode, Participant
from symposia.models.sessions.stop_conditions import TextSeen
from symposia.models.text.redact import clean_text
from symposia.models.turns.items import NewItem
from symposia.models.turns.turn import Decision, DraftMessage, Expects, TurnContext, TurnOutcome, Usage

ROSTER = (
    Participant(participant_id="lead", role_id="orchestrator"),
    Participant(participant_id="p-1", role_id="coder", display_name="Ada"),
    Participant(participant_id="p-2", role_id="tester", display_name="Bob and Sons"),
    Participant(participant_id="p-3", role_id="tester"),
)


def read(text, mode=CollabMode.ORCHESTRATED, expects=Expects.MESSAGE, *, roster=ROSTER, **outcome):
    context = TurnContext(
        session_id="s",
        mode=mode,
        title="t",
        purpose="p",
        me=ROSTER[0],
        roster=roster,
        turn_number=1,
        expects=expects,
    )
    said = TurnOutcome(messages=(DraftMessage(content=text),), usage=Usage(requests=1), **outcome)
    return read_directives(context, said)


def decision(text, **more):
    return read(text, expects=Expects.DECISION, **more).decision


def verdict(text):
    return read(text, CollabMode.PAIR, Expects.REVIEW).decision


def board(text):
    return read(text, CollabMode.SWARM)


def test_next_names_the_speakers_in_order():
    assert decision("I think so.\nNEXT: p-2, p-1\nThanks!") == Decision(next=("p-2", "p-1"))


def test_together_names_parallel_speakers():
    assert decision("TOGETHER: p-1, p-2") == Decision(next=("p-1", "p-2"), side_by_side=True)


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        ("P-1", ("p-1",)),
        ("Coder", ("p-1",)),
        ("ada", ("p-1",)),
        ("Ada and p-3", ("p-1", "p-3")),
        ("Ada, p-3, and p-2.", ("p-1", "p-3", "p-2")),
        ("Bob and Sons; Ada", ("p-2", "p-1")),
        ("**Ada**, `p-3`, @p-2", ("p-1", "p-3", "p-2")),
        ("tester", ("tester",)),
        ("Ada, the ghost", ("p-1", "the ghost")),
        ("\n- Ada\n- p-3", ("p-1", "p-3")),
    ],
)
def test_names_match_id_role_or_display_name(names, ids):
    assert decision(f"NEXT: {names}").next == ids


def test_instruction_is_for_everyone_or_one_person():
    text = (
        "NEXT: Ada, p-3\nINSTRUCTION: keep it short\nINSTRUCTION Ada: write it\nINSTRUCTION (p-3): break it"
    )
    assert decision(text) == Decision(
        next=("p-1", "p-3"), instruction="keep it short", instructions={"p-1": "write it", "p-3": "break it"}
    )


def test_instruction_ends_at_a_directive():
    text = "INSTRUCTION: first\nsecond\n\nnot this\nINSTRUCTION p-3:\n\nbreak it: all of it\nNEXT: p-1"
    read = decision(text)
    assert read.instruction == "first\nsecond\n\nnot this"
    assert read.instructions == {"p-3": "break it: all of it"}
    assert read.next == ("p-1",)


@pytest.mark.parametrize(
    "text", ["DONE: it works", "**DONE:** it works", "- DONE: it works", "## DONE: it works"]
)
def test_done_is_satisfied_with_a_reason(text):
    assert decision(text) == Decision(satisfied=True, reason="it works")


def test_done_may_be_alone_on_its_line():
    assert decision("We are there.\n**DONE.**") == Decision(satisfied=True)


def test_naming_a_speaker_is_not_satisfied():
    assert not decision("NEXT: Ada\nDONE: soon").satisfied
    assert decision("NEXT: nobody\nDONE: it works") == Decision(satisfied=True, reason="it works")


def test_stalled_is_no_progress():
    assert decision("STALLED: nobody knows\nNEXT: Ada") == Decision(
        progress=False, next=("p-1",), reason="nobody knows"
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"next": 7}',
        "Done: the parser.",
        "INSTRUCTION: alone",
        "The NEXT: one",
        "1. 2. 3.",
        "*",
        "-",
    ],
)
def test_prose_contains_no_decision(text):
    assert decision(text) == Decision(instruction=text)


@pytest.mark.parametrize(
    "text",
    [
        "**NEXT:** Ada",
        "**NEXT**: Ada",
        "**NEXT: Ada**",
        "* NEXT: Ada",
        "1. NEXT: Ada",
        "> NEXT: Ada",
        "### NEXT: Ada",
        "- **NEXT:** `Ada`",
        "```\nNEXT: Ada\n```",
        "  NEXT :  Ada  ",
    ],
)
def test_markdown_directives_are_read(text):
    assert decision(text) == Decision(next=("p-1",))


def test_fenced_code_is_not_read():
    assert decision("Like this:\n```\nDONE: not really\n```\nNEXT: Ada") == Decision(next=("p-1",))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("APPROVED", ""),
        ("approved.", ""),
        ("APPROVED: reads well", "reads well"),
        ("Good work.\nAPPROVE: ship it", "ship it"),
        ("**APPROVED!**", ""),
    ],
)
def test_a_review_approves(text, reason):
    assert verdict(text) == Decision(satisfied=True, reason=reason)


@pytest.mark.parametrize(
    "text", ["NOT APPROVED: no", "I have approved worse.", "APPROVED? No.", "NEXT: Ada", "DONE: x"]
)
def test_other_review_does_not_approve(text):
    assert verdict(text) is None


@pytest.mark.parametrize(
    "line",
    [
        "HAND OFF: tester",
        "HAND-OFF: Tester",
        "HANDOFF: **tester**",
        "- HAND_OFF: tester.",
        "HAND OFF: tester because she has the keys",
        "HAND OFF: tester, she has the keys",
        "HAND OFF: Tester (has the keys)",
    ],
)
def test_an_item_is_handed_to_a_role(line):
    assert board(f"Not mine.\n{line}").hand_off == "tester"


def test_item_may_name_an_unknown_participant():
    assert board("HAND OFF: ada").hand_off == "p-1"
    assert board("HAND OFF: P-3").hand_off == "p-3"
    assert board("HAND OFF: Ada changes places.").hand_off == "p-1"
    assert board("HAND OFF: the boss").hand_off == "the boss"


@pytest.mark.parametrize("mode", [mode for mode in CollabMode if mode is not CollabMode.SWARM])
def test_hand_off_outside_a_swarm_names_a_participant(mode):
    assert read("Not mine.\nHAND OFF: ada", mode).hand_off == "p-1"
    assert read("HAND OFF: the boss", mode).hand_off == "the boss"
    assert read("HAND OFF: ada changes places.", mode).hand_off == "p-1"
    assert read("```\nHAND OFF: ada\n```\nsaid Bob", mode).hand_off is None
    assert read("HAND OFF:", mode).hand_off is None


def test_items_are_added_for_anyone_or_for_one():
    assert board("ITEM: check the logs\nof today\nITEM tester: run it\nITEM boss: pay\nITEM:").items == (
        NewItem(text="check the logs\nof today"),
        NewItem(text="run it", role="tester"),
        NewItem(text="pay", role="boss"),
    )


@pytest.mark.parametrize("mode", CollabMode)
@pytest.mark.parametrize("text", ["PASS", "pass", " **PASS** ", "[PASS]", "Pass.", "`PASS`"])
def test_answer_of_only_pass_has_no_messages(mode, text):
    outcome = read(text, mode)
    assert (outcome.passed, outcome.messages) == (True, ())
    assert outcome.usage.requests == 1


@pytest.mark.parametrize("text", ["PASS the salt", "PASS\nNEXT: Ada"])
def test_other_pass_is_a_message(text):
    assert not read(text).passed


def test_directives_do_not_change_the_text():
    text = "So:\n**NEXT:** Ada\n"
    assert read(text, expects=Expects.DECISION).messages == (DraftMessage(content=text),)


def test_directives_count_only_if_expected():
    assert read("NEXT: Ada", CollabMode.ROUND_ROBIN).decision is None
    assert read("ITEM: x", CollabMode.PAIR, Expects.REVIEW).items == ()
    assert board("NEXT: Ada\nAPPROVED").decision is None


@pytest.mark.parametrize(
    "structured",
    [{"passed": True}, {"decision": Decision()}, {"hand_off": "p-1"}, {"items": (NewItem(text="x"),)}],
)
def test_structured_outcome_is_unchanged(structured):
    before = read("DONE: x", expects=Expects.DECISION, **structured)
    assert before == TurnOutcome(
        messages=(DraftMessage(content="DONE: x"),), usage=Usage(requests=1), **structured
    )


def test_too_long_directives_are_cut():
    huge = "x" * 20_000
    long = decision(
        f"NEXT: {', '.join(f'y{n}' for n in range(3_000))}z{huge}\nINSTRUCTION: {huge}\nSTALLED: {huge}"
    )
    assert (len(long.next), len(long.instruction), len(long.reason)) == (1_000, 8_000, 2_000)
    many = board("\n".join(f"ITEM {huge}: {huge}" for _ in range(150)))
    assert len(many.items) == 100


directives = ["NEXT", "TOGETHER", "INSTRUCTION", "DONE", "STALLED", "APPROVED", "HAND OFF", "ITEM", "PASS"]
marks = [":", "\n", " ", "**", "```", "- ", "1. ", ",", " and ", "#", ">", "_"]
words = st.sampled_from([*directives, *marks, "Ada", "p-2", "ghost"])


@given(
    st.lists(words | st.text(max_size=3), min_size=1).map("".join).filter(clean_text),
    st.sampled_from(CollabMode),
    st.sampled_from(Expects),
)
def test_any_text_can_be_read(text, mode, expects):
    outcome = read(text, mode, expects)
    assert outcome.passed or outcome.messages == (DraftMessage(content=clean_text(text)),)
    TurnOutcome.model_validate_json(outcome.model_dump_json())


MEGABYTE = 1_048_576


@pytest.mark.long
@pytest.mark.parametrize(
    ("begin", "unit"),
    [
        ("", "#"),
        ("", "*"),
        ("", "> "),
        ("", "```\n"),
        ("INSTRUCTION: a\n", "abcdef\n"),
        ("", "INSTRUCTION zed: write it\nand mend it\n"),
        ("", "ITEM zed: check the logs\n"),
        ("", "ASK zed\n"),
        ("", "ASK zed: may I?\n"),
        ("", "DONE: a\n"),
        ("APPROVED: ", "but "),
        ("NEXT: a", " "),
        ("HAND OFF: a", " "),
        ("", "“"),
        ("", "{'a': 1,"),
        ("```thinking\n", " "),
    ],
)
def test_megabyte_of_any_text_is_read_quickly(begin, unit):
    text = begin + unit * (MEGABYTE // len(unit)) + "b"
    read(text, expects=Expects.DECISION)
    TextSeen("b").seen_in([text], "p-1")
    read(text, CollabMode.PAIR, Expects.REVIEW)
    board(text)


@pytest.mark.parametrize("between", [",", ";", " and ", " & ", ", nobody, "])
def test_megabyte_of_names_is_cut_before_the_lookup(between):
    assert len(decision(f"NEXT: {between.join(['ghost'] * (MEGABYTE // 10))}").next) <= 1_000


@pytest.mark.parametrize(
    "text",
    [
        "Ada should go next.",
        "next: Ada",
        "NEXT : Ada",
        "NEXT: Ada (she knows the code)",
        "\x1b[33mNEXT: Ada\x1b[0m",
        "Next speaker: Ada",
        "Role: Ada",
        "ada",
        '{"next": "Ada"}',
        '```json\n{"next": ["Ada"]}\n```',
        "<think>NEXT: p-3 would be wrong.</think>\nNEXT: Ada",
    ],
)
def test_wording_with_one_meaning_is_a_decision(text):
    assert decision(text).next == ("p-1",)


def test_escaped_underscore_is_part_of_a_name():
    roster = (ROSTER[0], Participant(participant_id="senior_engineer"))
    assert decision("NEXT: Senior\\_Engineer", roster=roster).next == ("senior_engineer",)
