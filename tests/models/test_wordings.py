"""Wordings of models and people: each row of the table of answers that deviate, in every wording."""

from __future__ import annotations

import pytest

from symposia.models.directives import read_directives
from symposia.models.modes.decisions import check_decision
from symposia.models.protocol.collab import CollabMode, Participant
from symposia.models.sessions.stop_conditions import TextSeen
from symposia.models.turns.turn import Decision, DraftMessage, Expects, TurnContext, TurnOutcome

LEAD, ADA, ENGINEER, TESTER = ROSTER = (
    Participant(participant_id="lead", display_name="Lead", role_id="orchestrator"),
    Participant(participant_id="ada", display_name="Ada"),
    Participant(participant_id="senior_engineer", display_name="Senior Engineer", role_id="engineer"),
    Participant(participant_id="tester"),
)
ANSWER = "The door needs a new hinge, because the old one is bent.\n\nBuy it today."
NAMES = "ada, senior_engineer, tester"


def read(text, expects=Expects.DECISION, mode=CollabMode.ORCHESTRATED):
    context = TurnContext(
        session_id="s",
        mode=mode,
        title="t",
        purpose="p",
        me=LEAD,
        roster=ROSTER,
        turn_number=1,
        expects=expects,
    )
    return read_directives(context, TurnOutcome(messages=(DraftMessage(content=text),)))


def decide(text):
    """Return the decision in ids, and what is wrong with it."""
    return check_decision(read(text).decision, ROSTER, "lead")


@pytest.mark.parametrize(
    "text",
    [
        "next: ada",
        "Next: Ada",
        "NEXT:ada",
        "NEXT : ada",
        "NEXT\uff1aada",
        "NEXT - ada",
        "NEXT ada",
        "### NEXT: ada",
        "**NEXT:** ada",
        "1. NEXT: ada",
        "> NEXT: ada",
        "Lead: NEXT: ada",
        "\x1b[33mNEXT: ada\x1b[0m",
        "\ufffd[33mNEXT: ada\ufffd[0m",
        "NEXT: ada (knows the code)",
        "NEXT: ada - knows it",
        "NEXT: ada — knows it",
        "NEXT: ada, because it is about data",
        "NEXT: ada because the tester is busy",
        "NEXT: ada: write the test",
        "ada",
        "Ada.",
        "Speaker: ada",
        "Role: ada",
        '{"next": "ada"}',
        '```json\n{"satisfied": false, "next": [{"name": "ada", "instruction": "go"}], "reason": "r"}\n```',
        "{'next': 'ada',}",
        'My choice:\n{"next": ["Ada"]}\nThat is all.',
        "Next speaker: Ada",
        "I think Ada should go next.",
        "I do not know the details, so ada.",
        "<think>NEXT: tester would be wrong.</think>\nNEXT: ada",
        "DONE: not yet, ada must check it first.",
        "DONE: no, ada must test it.",
        "DONE: all is well\nNEXT: ada",
        "NEXT: ada\nDONE: soon",
        "Like this:\n```\nDONE: no\n```\nNEXT: ada",
    ],
)
def test_wording_names_ada(text):
    decision, fault = decide(text)
    assert (decision.next, decision.satisfied, fault) == (("ada",), False, "")


@pytest.mark.parametrize(
    "name",
    [
        r"senior\_engineer",
        r"Senior\_Engineer",
        "Senior Engineer",
        "senior-engineer",
        "engineer",
        "@senior_engineer",
        '"senior_engineer".',
        "[senior_engineer]",
        "`senior_engineer`",
        "senior_engineer, senior_engineer",
    ],
)
def test_name_means_the_senior_engineer(name):
    assert decide(f"NEXT: {name}")[0].next == ("senior_engineer",)
    assert decide(f"next: {name}")[1] == ""


@pytest.mark.parametrize(
    "text",
    [
        "NEXT: ada and tester",
        "NEXT: ada & tester",
        "NEXT: ada then tester",
        "NEXT: ada, then tester",
        "NEXT: ada -> tester",
        "NEXT: ada → tester",
        "NEXT: ada\nNEXT: tester",
        "NEXT:\n- ada\n- tester",
        "NEXT:\n1. ada\n2. tester (checks it)",
        "NEXT: ada, tester, ada",
        "next: ada and tester",
    ],
)
def test_wording_names_ada_then_the_tester(text):
    decision, fault = decide(text)
    assert (decision.next, decision.side_by_side, fault) == (("ada", "tester"), False, "")


@pytest.mark.parametrize(
    ("text", "speakers"),
    [
        ("TOGETHER: ada, tester", ("ada", "tester")),
        ("NEXT: all", ("ada", "senior_engineer", "tester")),
        ("NEXT: everyone", ("ada", "senior_engineer", "tester")),
        ("Together: all", ("ada", "senior_engineer", "tester")),
    ],
)
def test_wording_names_several_side_by_side(text, speakers):
    decision, fault = decide(text)
    assert (decision.next, decision.side_by_side, fault) == (speakers, True, "")


@pytest.mark.parametrize(
    ("text", "instruction"),
    [
        ("NEXT: ada\nINSTRUCTION: a\n\nb", "a\n\nb"),
        ("NEXT: ada\nINSTRUCTION: a\n```\ncode\n```\n\nb\nNEXT: ada", "a\n```\ncode\n```\n\nb"),
        ("NEXT: ada: write the test", "write the test"),
        ("NEXT: tester\nINSTRUCTION ada: a", "a"),
        ('{"next": [{"name": "Ada", "instruction": "a"}]}', "a"),
    ],
)
def test_instruction_is_read_to_its_end(text, instruction):
    assert decide(text)[0].instruction_for("ada") == instruction


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Ada or tester could answer.", "Name one: NEXT: ada or NEXT: tester."),
        ("NEXT: ada or tester", "Name one: NEXT: ada or NEXT: tester."),
        ("not Ada", "Name one: NEXT: senior_engineer or NEXT: tester."),
        ("Ada should not go next.", "Name one: NEXT: senior_engineer or NEXT: tester."),
        ("NEXT: architect", f"'architect' is not a participant. Answer with NEXT: and one of {NAMES}."),
        (
            "NEXT: lead",
            f"You cannot name yourself. Give the turn to one of {NAMES}, or write DONE: and the answer.",
        ),
    ],
)
def test_note_says_what_was_wrong(text, note):
    assert decide(text)[1] == note


@pytest.mark.parametrize(
    "text",
    [
        "Somebody should do it.",
        "Not DONE",
        "We are DONE: ok",
        "DONE: not yet",
        "> DONE: " + ANSWER,
        '"DONE: ' + ANSWER + '"',
        "```text\nDONE: it works\n```\nIs the form.",
        "",
    ],
)
def test_text_without_decision_is_told_the_forms(text):
    assert not decide(text or "...")[0].satisfied
    assert decide(text or "...")[1].startswith("Your answer names no speaker")


@pytest.mark.parametrize(
    "text",
    ["DONE", "Done.", "**DONE.**", "TERMINATE", "FINISH", "DONE: ok", "NEXT: none", '{"satisfied": true}'],
)
def test_done_without_answer(text):
    decision = read(text).decision
    assert (decision.satisfied, decision.next, decision.answer) == (True, (), "")


@pytest.mark.parametrize(
    "text",
    [
        f"DONE: {ANSWER}",
        f"DONE:\n{ANSWER}",
        f"**DONE:**\n\n{ANSWER}\n",
        f"All is said.\nDONE\n{ANSWER}",
        f"<think>Am I?</think>DONE: {ANSWER}",
    ],
)
def test_text_after_done_is_the_answer(text):
    decision = read(text).decision
    assert (decision.satisfied, decision.answer) == (True, ANSWER)


def test_answer_may_hold_directives_of_its_own_subject():
    answer = "Write these lines on the form, in this order:\nNEXT: page two\n```\nINSTRUCTION: sign\n```"
    assert read(f"DONE:\n{answer}").decision.answer == answer


@pytest.mark.parametrize(
    "text",
    [
        "APPROVED",
        "APPROVED: fine",
        "approved: fine",
        "✅ Approved.",
        "APPROVE",
        "Verdict: APPROVED",
        "**Verdict:** APPROVED",
        "LGTM",
        "Good work.\nAPPROVED: reads well, short but complete",
        "APPROVED: fine\n- clear\n- short",
        "APPROVED: no changes needed.",
        "APPROVED: no further changes.",
        "APPROVED: not a single fault is left.",
        "APPROVED: complete, but nothing is missing",
    ],
)
def test_review_approves(text):
    assert read(text, Expects.REVIEW, CollabMode.PAIR).decision.satisfied


@pytest.mark.parametrize(
    "text",
    [
        "Not APPROVED",
        "NOT APPROVED: fix X",
        "APPROVED: no, fix X",
        "APPROVED, but fix X first",
        "APPROVED: no issues, but rename Y",
        "APPROVED: good, though the end is missing",
        "APPROVED if you fix X",
        "APPROVED\n- fix X\n- rename Y",
        "APPROVED: nearly\n1. Fix X.",
        "I would have APPROVED it with X.",
        "Once X is fixed: APPROVED",
        "> APPROVED: fine\nis what I cannot say.",
        "`APPROVED` is the word.\n```\nAPPROVED\n```",
    ],
)
def test_review_does_not_approve(text):
    assert read(text, Expects.REVIEW, CollabMode.PAIR).decision is None


@pytest.mark.parametrize(
    "text",
    [
        "PASS",
        "pass.",
        "(PASS)",
        "**PASS**",
        "PASS: nothing to add",
        "I pass.",
        "I pass: the lock is not mine.",
        "Pass - nothing new",
        "PASS. All is said.",
    ],
)
def test_text_passes(text):
    assert read(text, Expects.MESSAGE).passed


@pytest.mark.parametrize(
    "text",
    [
        "PASS: I agree. But the hinge is bent.",
        "PASS the salt",
        "I pass the turn to Ada.",
        "PASS\nNEXT: Ada",
        "The PASS is closed.",
        "Pass: all 14 tests are green.",
        "Pass. 14 of 14 tests pass",
    ],
)
def test_text_with_pass_is_a_message(text):
    assert not read(text, Expects.MESSAGE).passed


@pytest.mark.parametrize(
    "text",
    [
        "Agreed.",
        "AGREED",
        "So be it.\n\n**AGREED**",
        "We do not fear it. AGREED!",
        "_AGREED_",
        "I don't mind; agreed.",
    ],
)
def test_stop_text_is_met(text):
    assert TextSeen("AGREED").seen_in([text], "ada")


@pytest.mark.parametrize(
    "text",
    [
        "DISAGREED",
        "not AGREED",
        "We have not yet AGREED.",
        "We never agreed",
        'when you write "AGREED"',
        "Write AGREED_ALL",
        "End with `AGREED` please",
        "```\nAGREED\n```",
        "> AGREED\nis what Ben wrote.",
        "Have you AGREED?",
        "The word “AGREED” ends it.",
        "It ends when all have AGREED",
    ],
)
def test_stop_text_is_not_met(text):
    assert not TextSeen("AGREED").seen_in([text], "ada")


def test_decision_with_a_fault_is_no_choice():
    decision = Decision(fault="Name one: NEXT: ada.")
    assert check_decision(decision, ROSTER, "lead")[1] == "Name one: NEXT: ada."
    assert Decision.model_validate_json(decision.model_dump_json()) == decision
    assert not {"fault", "answer"} & Decision().model_dump().keys()
