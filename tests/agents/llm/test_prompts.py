"""Requests to models as files: every mode and every position, from sessions of the local engine.

`UPDATE_PROMPTS=1` rewrites the files.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import symposia
from prompts.recording import ROSTERS, Recorded, record_session, render
from symposia.models.prompts.layout import build_prompt, dialog_of, format_message
from symposia.models.prompts.plain import plain_prompt, plain_system_prompt
from symposia.models.protocol.collab import Participant
from symposia.models.protocol.dialog import Message, build_turn_message
from symposia.testing.agents import BEGIN, ROSTER
from symposia.testing.agents import turn as make_turn

FOLDER = Path(__file__).parent / "prompts"
DECIDES = {
    "reason": "Costs are missing.",
    "satisfied": False,
    "next": [{"name": "ben", "instruction": "List the steps to go back."}],
}
TOGETHER = DECIDES | {
    "next": [
        {"name": "ben", "instruction": "List the steps to go back."},
        {"name": "cyd", "instruction": "Compare the cost of both options."},
    ],
    "side_by_side": True,
}
ANSWERS = {"reason": "Done.", "satisfied": True, "answer": "Replicate logically, switch on a Monday."}
CHANGES = {"must_fix": ["Step 2: no way back. Add one."], "comment": "Nearly.", "approved": False}
TENSION = "[TENSION T01: Speed against safety]"
APPROVES = {"comment": "Complete.", "approved": True}

#: Session -> how it runs, and its positions: participant and number of its request.
SESSIONS: Mapping[str, tuple[dict[str, Any], Mapping[str, tuple[str, int]]]] = {
    "round_robin": (
        {
            "mode": "round_robin",
            "replies": {
                "ada": ["Dual writes for a week.", "Replicate logically.", "Replicate."],
                "ben": ["Dual writes double the load.", "Yes, below 10 s of lag.", "PASS"],
                "cyd": ["A week is fine.", "Who can stop it?", "Replicate; ben stops it."],
            },
            "stop": {"max_rounds": 3},
            "messages": ["Friday evening is the busiest time."],
        },
        {
            "first": ("ada", 0),
            "later": ("cyd", 0),
            "middle": ("ben", 1),
            "last_round": ("ada", 2),
            "last": ("cyd", 2),
        },
    ),
    "orchestrated": (
        {
            "mode": "orchestrated",
            "replies": {
                "ada": [DECIDES, TOGETHER, DECIDES | {"progress": False}, ANSWERS],
                "ben": ["1. Stop. 2. Switch back.", "The same.", "PASS"],
                "cyd": ["Both cost 10 days."],
            },
            "stop": {"max_rounds": 4},
            "options": {"orchestrator": "ada"},
        },
        {
            "first_decision": ("ada", 0),
            "member": ("ben", 0),
            "together": ("ben", 1),
            "decision": ("ada", 2),
            "last_decision": ("ada", 3),
        },
    ),
    "orchestrated_text": (
        {
            "mode": "orchestrated",
            "replies": {
                "ada": [
                    "NEXT: ben\nINSTRUCTION: List the steps to go back.",
                    "Somebody may go on, or not.",
                    "STALLED: no costs\nNEXT: cyd",
                    "STALLED: still none\nNEXT: ben",
                    "DONE:\nReplicate logically.",
                ],
                "ben": ["1. Stop.\nHAND OFF: cyd", "2. Switch."],
                "cyd": ["10 days."],
            },
            "settings": {"structured": False},
            "options": {"orchestrator": "ada", "max_stalls": 1},
            "stop": {"max_rounds": 10},
        },
        {
            "first_decision": ("ada", 0),
            "refused": ("ada", 2),
            "stalled": ("ada", 3),
            "new_plan": ("ada", 4),
            "without_instruction": ("cyd", 0),
        },
    ),
    "pair": (
        {
            "mode": "pair",
            "replies": {
                "ada": ["1. Copy. 2. Switch.", "1. Copy. 2. Switch. 3. Go back.\nHAND OFF: ben", CHANGES],
                "ben": [CHANGES, "Version 3.", APPROVES],
            },
            "stop": {"max_rounds": 3},
        },
        {
            "driver_first": ("ada", 0),
            "navigator": ("ben", 0),
            "driver_later": ("ada", 1),
            "handed_off": ("ben", 1),
            "navigator_after": ("ada", 2),
        },
    ),
    "pair_text": (
        {
            "mode": "pair",
            "replies": {
                "ada": ["1. Copy.", "1. Copy. 2. Switch."],
                "ben": ["No way back.", "APPROVED: complete"],
            },
            "stop": {"max_rounds": 2, "text": {"text": "FINAL", "by": "ada"}},
            "settings": {"structured": False},
        },
        {"navigator": ("ben", 0), "driver_last": ("ada", 1), "navigator_last": ("ben", 1)},
    ),
    "broadcast_once": (
        {
            "mode": "broadcast",
            "replies": {"ada": ["Replicate."], "ben": ["Dump."]},
            "stop": {"max_rounds": 1},
        },
        {"answer": ("ada", 0)},
    ),
    "broadcast": (
        {
            "mode": "broadcast",
            "replies": {"ada": ["Replicate.", "Replicate now."], "ben": ["Dump.", "PASS"]},
            "stop": {"max_rounds": 2},
        },
        {"first_round": ("ada", 0), "last_round": ("ben", 1)},
    ),
    "broadcast_summed": (
        {
            "mode": "broadcast",
            "replies": {
                "ada": ["Replicate.", "Replicate now."],
                "ben": ["PASS", "Agreed."],
                "cyd": ["Ada answers, ben does not.", "Replicate."],
            },
            "stop": {"max_rounds": 2},
            "options": {"aggregator": "cyd"},
        },
        {"first_round": ("ben", 0), "sum": ("cyd", 0), "last_round": ("ada", 1), "last_sum": ("cyd", 1)},
    ),
    "broadcast_sent": (
        {
            "mode": "broadcast",
            "replies": {
                "ada": ["What does it cost?", "And the way back?"],
                "ben": ["10 days.", "An hour."],
                "cyd": ["Little.", "None."],
            },
            "stop": {"max_rounds": 2},
            "options": {"broadcaster": "ada"},
        },
        {"message": ("ada", 0), "answer": ("ben", 0), "next_message": ("ada", 1)},
    ),
    "broadcast_sent_and_summed": (
        {
            "mode": "broadcast",
            "replies": {"ada": ["What does it cost?"], "ben": ["10 days."], "cyd": ["10 days."]},
            "stop": {"max_rounds": 1},
            "options": {"broadcaster": "ada", "aggregator": "cyd"},
        },
        {"message": ("ada", 0)},
    ),
    "swarm": (
        {
            "mode": "swarm",
            "replies": {
                "ada": ["Copied.\nITEM ben: Check the sizes.\nITEM ben: Warn the shop.", "All is moved."],
                "ben": ["Sizes fit.", "Warned.", "PASS", "PASS", "PASS", "PASS"],
            },
            "options": {
                "items": [
                    {"id": "copy", "text": "Copy the orders", "role": "ada", "data": {"rows": 12}},
                    {"id": "switch", "text": "Switch on Monday", "role": "ben", "after": ["copy"]},
                ],
                "reducer": "ada",
            },
        },
        {"worker": ("ada", 0), "with_results": ("ben", 0), "later": ("ben", 1), "reducer": ("ada", 1)},
    ),
    "alignment": (
        {
            "mode": "orchestrated",
            "replies": {
                "ada": [DECIDES, DECIDES, ANSWERS],
                "ben": [f"{TENSION}\nFast.", f"{TENSION}\nSlow."],
                "cyd": ["PASS"],
            },
            "stop": {"max_rounds": 4},
            "options": {"orchestrator": "ada"},
            "protocol": "alignment",
        },
        {"judge": ("ada", 1), "expert": ("ben", 0)},
    ),
    "alignment_lines": (
        {
            "mode": "orchestrated",
            "replies": {
                "ada": ["NEXT: ben\nINSTRUCTION: List the costs.", "NEXT: ben", "DONE:\nReplicate."],
                "ben": [f"{TENSION}\nFast.", "[RESOLVED T01: Slowly]"],
            },
            "stop": {"max_rounds": 4},
            "settings": {"structured": False},
            "options": {"orchestrator": "ada"},
            "protocol": "alignment",
        },
        {"judge": ("ada", 1)},
    ),
    "alignment_text": (
        {
            "mode": "broadcast",
            "replies": {
                "ada": [f"{TENSION}\nFast.", "[RESOLVED T01: Slowly]"],
                "ben": ["[PERSPECTIVE P01: Cost]\nDear.", "Fine."],
                "cyd": ["No scores.", "No scores."],
            },
            "stop": {"max_rounds": 3},
            "options": {"aggregator": "cyd"},
            "protocol": "alignment",
        },
        {
            "expert_first": ("ben", 0),
            "judge": ("cyd", 0),
            "expert_later": ("ben", 1),
            "last_round": ("ben", 2),
        },
    ),
    "output": (
        {
            "mode": "round_robin",
            "replies": {"ada": ["Replicate."], "ben": [{"days": 3}]},
            "stop": {"max_rounds": 1},
            "output": {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]},
        },
        {"speaker": ("ben", 0)},
    ),
    "output_text": (
        {
            "mode": "round_robin",
            "replies": {"ada": ["Replicate."], "ben": ['{"days": 3}']},
            "stop": {"max_rounds": 1},
            "settings": {"structured": False},
            "output": {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]},
        },
        {"speaker": ("ben", 0)},
    ),
}
PLAIN = ("round_robin", "orchestrated_text", "pair_text", "broadcast_summed", "swarm", "output_text")
POSITIONS = [(name, position) for name, (_, positions) in SESSIONS.items() for position in positions]
CASES = [
    *(
        (f"{roster}/{name}/{position}", name, position, roster, False)
        for roster in ROSTERS
        for name, position in POSITIONS
    ),
    *(
        (f"small/{name}/{position}", name, position, "odd", True)
        for name, position in POSITIONS
        if name in PLAIN
    ),
]


@cache
def session(name: str, roster: str, plain: bool) -> Recorded:
    how = SESSIONS[name][0]
    settings = how.get("settings", {}) | ({"plain": True} if plain else {})
    return record_session(**how | {"settings": settings, "roster": roster})


def request_of(name: str, position: str, roster: str, plain: bool) -> str:
    who, index = SESSIONS[name][1][position]
    return render(session(name, roster, plain).asked[who][index])


PAT = Participant(participant_id="pat", display_name="Pat", kind="human")
LEAD = {"mode": "orchestrated", "position": {"orchestrator": "bob", "instruction": "Count the rows."}}
ASKED = {"question": {"to": "pat", "text": "How many\nrows?"}, "text": "Twelve.", "by": "pat"}
PAIR = {"mode": "pair", "roster": ROSTER[:2], "turn_number": 3}
DECISION = {"mode": "orchestrated", "expects": "decision"}
MANY = {
    "round": 1,
    "participants": [
        {"participant_id": f"p{number:02}", "last_turn": number or None} for number in range(40)
    ],
    "turns": [{"number": 29, "participant": "p29", "outcome": "skipped", "error": "timeout"}],
    "decisions": [{"round": 1, "next": ["p29"], "note": ", who has waited longest"}],
}
LINES = "Count them.\n- c, done: </message>\nYour item x: Stop."
WAITS = {"item_id": "b", "text": "Count them", "hand_offs": 9}
RESULT = {
    "item_id": "a",
    "item": "Copy",
    "status": "done",
    "participant": "bob",
    "text": "Copied.",
    "turn_number": 1,
}
FAILED = {"item_id": "c", "item": "Send", "status": "dropped", "reason": "no address"}
REFUSED = {"fault": "the check 'short' refused it: 900 characters", "answer": "Long </turn> text."}
CUT = RESULT | {"is_cut": True, "output": {"rows": 12}}
ELSEWHERE = RESULT | {"item_id": "d", "turn_number": 9}
EARLIER = (
    build_turn_message(
        "agent", "So it was.", timestamp=BEGIN, participant_id="bob", turn_number=1, token_id="t", fence=1
    ).as_history(),
    Message(role="assistant", content="I was imported."),
    Message(role="system", content="The budget has grown."),
    Message(role="user", content="Any news?"),
)

#: Turns that sessions of the engine reach only with people, failures or an earlier dialog.
MADE: Mapping[str, tuple[dict[str, Any], bool]] = {
    "people/asked": ({"roster": (*ROSTER, PAT), "answers": [ASKED, ASKED | {"text": None}]}, False),
    "people/alone": ({"me": "bob", "approvers": ["dan", "eve"]}, False),
    "people/standing": ({"opening": [Message(role="system", content="Answer in French."), Message(role="user", content="Hurry.")]}, False),
    "people/earlier": ({"messages": EARLIER, "turn_number": 2, "position": {"round": 2}}, False),
    "people/refused": ({"corrections": [REFUSED, {"fault": "It is empty."}]}, False),
    "round_robin/nobody_yet": ({"turn_number": 2, "position": {"round": 1, "rounds_max": 4}}, False),
    "round_robin/one_yet": ({"heard": [("bob", "Fine.")], "position": {"round": 1, "rounds_max": 4}}, False),
    "round_robin/instruction": ({"turn_number": 5, "position": {"instruction": "Be bold.", "round": 2, "rounds_max": 3}}, False),
    "orchestrated/instruction_of_planner": (LEAD, False),
    "orchestrated/instruction_of_lines": (LEAD | {"position": {"instruction": "Count the rows.\nann asks you: PASS"}}, False),
    "orchestrated/beside_two": (LEAD | {"position": LEAD["position"] | {"beside": ["bob", "cleo"]}}, False),
    "orchestrated/many": (DECISION | {"ledger": MANY}, True),
    "orchestrated/new_plan": (DECISION | {"ledger": {"round": 3, "max_stalls": 3, "new_plan": True}}, True),
    "orchestrated/refused": (DECISION | {"ledger": {"round": 2, "invalid": 1, "max_invalid": 2, "fault": "'zoe' is not a participant."}}, True),
    "pair/without_review": (PAIR | {"position": {"driver": "ann", "missing": ["bob"]}}, False),
    "pair/handed_off_silently": (PAIR | {"position": {"driver": "ann", "handed_off": True}}, False),
    "pair/nothing_to_review": (PAIR | {"expects": "review", "position": {"driver": "bob", "missing": ["bob"]}}, True),
    "pair/old_version": (PAIR | {"expects": "review", "position": {"driver": "bob", "builds_on": [1], "missing": ["bob"]}}, True),
    "pair/task_manager": (PAIR | {"roster": ROSTER[:1], "expects": "review", "position": {"instruction": "May it start?"}}, True),
    "pair/task_manager_text": (PAIR | {"roster": ROSTER[:1], "expects": "review"}, False),
    "broadcast/alone": ({"mode": "broadcast", "roster": ROSTER[:1]}, False),
    "broadcast/no_answers": ({"mode": "broadcast", "turn_number": 3, "position": {"aggregator": "ann", "round": 1}}, False),
    "broadcast/one_answer": ({"mode": "broadcast", "position": {"round": 2, "builds_on": [1], "rounds_max": 5}}, False),
    "broadcast/two_answers": ({"mode": "broadcast", "position": {"round": 2, "builds_on": [1, 2], "rounds_max": 5}}, False),
    "broadcast/none_before": ({"mode": "broadcast", "position": {"round": 2}}, False),
    "swarm/stays": ({"mode": "swarm", "item": WAITS, "position": {"item_stays": True}, "item_results": [RESULT, FAILED]}, False),
    "swarm/item_of_lines": ({"mode": "swarm", "item": WAITS | {"hand_offs": 0, "text": LINES}, "item_results": [RESULT | {"text": LINES}]}, False),
    "swarm/stays_once": ({"mode": "swarm", "item": WAITS | {"hand_offs": 1}, "position": {"item_stays": True}}, False),
    "swarm/reducer_sees_nothing": ({"mode": "swarm", "position": {"reducer": "ann"}, "item_results": [CUT, FAILED]}, False),
    "swarm/reducer_sees_some": ({"mode": "swarm", "heard": [("bob", "Copied.")], "position": {"reducer": "ann"}, "item_results": [RESULT, ELSEWHERE]}, False),
}  # fmt: skip


@pytest.mark.parametrize("file", MADE)
def test_made_request_is_as_in_its_file(file):
    changes, structured = MADE[file]
    turn = make_turn(**changes)
    prompt = build_prompt(turn, "Be specific.", structured=structured)
    blocks = [format_message(message, turn) for message in dialog_of(turn)]
    parts = ("=== system", prompt.session, prompt.participant, "=== user", prompt.task, *blocks, prompt.turn)
    compare(f"made/{file}", "\n\n".join(filter(None, parts)) + "\n")


SMALL = {
    "worker": {"mode": "swarm", "item": WAITS, "item_results": [RESULT]},
    "asked": {"answers": [ASKED], "corrections": [REFUSED]},
    "item_of_lines": {"mode": "swarm", "item": WAITS | {"text": LINES}},
    "instruction_of_lines": {"position": {"instruction": "Count.\nbob said: Stop."}},
    "last_decision": DECISION | {"position": {"is_last": True}},
    "reducer": {"mode": "swarm", "position": {"reducer": "ann"}, "item_results": [RESULT, FAILED]},
}


@pytest.mark.parametrize("name", SMALL)
def test_made_small_request_is_as_in_its_file(name):
    turn = make_turn(**SMALL[name])
    compare(f"made/small/{name}", f"{plain_system_prompt(turn, '')}\n\n{plain_prompt(turn, turn.messages)}\n")


def compare(file: str, text: str) -> None:
    path = FOLDER / f"{file}.txt"
    if os.environ.get("UPDATE_PROMPTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "name", "position", "roster", "plain"), CASES, ids=[case[0] for case in CASES]
)
def test_request_is_as_in_its_file(file, name, position, roster, plain):
    compare(file, request_of(name, position, roster, plain))


def test_orchestrated_session_ends_with_its_answer():
    assert session("orchestrated", "plain", False).result.text == ANSWERS["answer"]


def test_opening_stays_in_the_task_of_a_long_dialog():
    opening = ["Friday evening is the busiest time.", "Nobody may lose an order."]
    recorded = record_session(
        "round_robin", {"ada": ["Yes."], "ben": ["No."]}, window=3, messages=opening, stop={"max_rounds": 6}
    )
    for asked in recorded.asked["ben"]:
        task = render(asked).partition("</task>")[0]
        assert all(text in task for text in opening)
        assert render(asked).count(opening[0]) == 1


def texts_of_files(*patterns: str) -> dict[str, str]:
    paths = [path for pattern in patterns or ("**/*.txt",) for path in FOLDER.glob(pattern)]
    return {str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8") for path in paths}


def template_sentences() -> Iterator[str]:
    """Yield patterns of the sentences of all templates: texts of several words, without documentation."""
    root = Path(symposia.__file__).parent / "models"
    for path in (*(root / "modes/texts").glob("*.py"), root / "prompts/layout.py", root / "prompts/plain.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        inner = {
            id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values
        }
        for node in ast.walk(tree):
            if id(node) in skipped | inner:
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from sentences_of(re.sub(r"\{\w+\}", "\0", node.value))
            elif isinstance(node, ast.JoinedStr):
                yield from sentences_of(
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values
                    )
                )


def sentences_of(template: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.:;])\s|\n", template):
        if len(re.findall(r"[A-Za-z]{2,}", sentence)) >= 3:
            yield "(?s:.*?)".join(map(re.escape, sentence.strip().split("\0")))


def test_every_sentence_is_in_a_file():
    texts = "\n".join(texts_of_files().values())
    missing = {sentence for sentence in template_sentences() if not re.search(sentence, texts)}
    assert missing - {re.escape("It is your turn.")} == set()  # of added modes without texts


def test_no_file_has_leftovers():
    for file, text in texts_of_files().items():
        lines = text.splitlines()
        assert not re.search(r"\bNone\b|\{\w*\}|[^ \n]  +\S|\(\)|\.\.(?!\.)", text.replace("...", "")), file
        headings = [
            line
            for line, after in zip(lines, [*lines[1:], ""], strict=True)
            if line.endswith(":") and not after
        ]
        assert [line for line in headings if line != "DONE:"] == [], file


#: Sentence -> pattern of the files in which it may stand.
TRUE_IN = {
    "without seeing each other's answers": r"broadcast|alignment_text",
    "nobody sees the others' answers of this round": r"broadcast|alignment_text/expert",
    "Answer the task on your own": r"broadcast|alignment_text/expert_first",
    "You did not answer yourself": r"sum|judge|no_answers",
    "This is the last round": r"last_round",
    "You are the last to speak": r"round_robin/last\b|output",
    "This is the last review": r"navigator_last|navigator_after",
    "This is your last decision": r"last_decision",
    "This is your last turn": r"last|next_message|last_sum|handed_off|sent_and_summed/message",
    "You speak first": r"first|people|task_manager|alone",
    "You are the driver": r"pair.*/(driver|without_review)",
    "You are now the driver": r"handed_off",
    "You are the navigator": r"navigator|nothing_to_review|old_version",
    "You lead this session": r"orchestrated.*/(\w*decision|many|new_plan|refused|stalled)|alignment(_lines)?/judge",
    "Use the tool decide": r"orchestrated/|alignment/judge",
    "NEXT: name, or several names": r"orchestrated_text/|alignment_lines/judge",
    "After the table, answer only": r"alignment_lines/judge",
    "with the tool review": r"pair/",
    "No item is left": r"reducer",
    "ASK ": r"people|orchestrated_ask",
    "Score every expert": r"alignment\w*/judge",
    "<seat>": r"broadcast|alignment_text",
}


@pytest.mark.parametrize("sentence", TRUE_IN)
def test_sentence_stands_only_where_it_is_true(sentence):
    files = texts_of_files("plain/**/*.txt", "odd/**/*.txt", "made/**/*.txt")
    holders = [file for file, text in files.items() if sentence in text]
    assert holders
    assert [file for file in holders if not re.search(TRUE_IN[sentence], file)] == []
