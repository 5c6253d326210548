"""The ledger of an alignment session: what turns mark, under global ids, and when a round has converged."""

from __future__ import annotations

import pytest

from symposia.alignment.document import MarkerRef
from symposia.alignment.turn_marks import check_turn_form, read_turn_marks
from symposia.models.alignment.ledger import MAX_ENTRIES, Ledger
from symposia.models.alignment.marks import Scores
from symposia.models.sessions.stop_conditions import Converged, MaxRounds
from symposia.models.turns.turn import OutcomeKind, TurnResult

EXPERTS = ("ann", "bob")
MOVE = "[MOVE:CONVERGE]"


def after(*turns: tuple[str, str]) -> Ledger:
    ledger = Ledger()
    for number, (name, text) in enumerate(turns, start=1):
        ledger = ledger.after_turn(number, name, read_turn_marks([text]), experts=EXPERTS)
    return ledger


def states(ledger: Ledger) -> dict[str, list[str]]:
    return {it.id: [f"{c.state} {c.by} {c.round}" for c in it.changes] for it in ledger.tensions}


def test_local_ids_of_experts_become_global_ones():
    ledger = after(("ann", "[TENSION T01: a]\n[PERSPECTIVE P01: p]"), ("bob", "[TENSION T01: b]"))
    assert [(it.id, it.label) for it in ledger.tensions] == [("T01", "a"), ("T02", "b")]
    assert ledger.local == {"ann T01": "T01", "ann P01": "P01", "bob T01": "T02"}


def test_reused_perspective_id_in_a_later_round_is_new():
    ledger = after(
        ("ann", "[PERSPECTIVE P01: p]"),
        ("bob", MOVE),
        ("ann", f"[PERSPECTIVE P01: q]\n{MOVE}"),
        ("bob", f"[REFINEMENT ANN R0-P01: r]\n{MOVE}"),
    )
    assert not ledger.converged
    assert [(it.id, it.label, it.round) for it in ledger.perspectives] == [("P01", "p", 0), ("P02", "q", 1)]
    assert [ledger.global_id(MarkerRef("P01", "ANN", it), "bob") for it in (0, 1, None)] == [
        "P01",
        "P02",
        "P02",
    ]
    assert after(
        ("ann", "[PERSPECTIVE P01: p]"),
        ("bob", MOVE),
        ("ann", f"[PERSPECTIVE P01: P]\n{MOVE}"),
        ("bob", MOVE),
    ).converged


def test_a_tension_is_addressed_resolved_and_reopened():
    ledger = after(
        ("ann", "[TENSION T01: a]"),
        ("bob", "[REFINEMENT ANN T01: narrower]"),
        ("ann", "[RESOLVED T01: done]"),
        ("bob", "[TENSION ANN T01: not at all]"),
    )
    assert states(ledger) == {"T01": ["open ann 0", "addressed bob 0", "resolved ann 1", "reopened bob 1"]}


def test_a_tension_is_deferred_by_its_label():
    ledger = after(("ann", "[TENSION T01: a]"), ("bob", "[REFINEMENT T01: Deferred to next year]"))
    assert states(ledger)["T01"][-1] == "deferred bob 0"
    assert ledger.open_tensions == ()


@pytest.mark.parametrize(
    ("bob", "converged"),
    [
        (MOVE, True),
        (f"**{MOVE}**", True),
        (f"Done. {MOVE}", True),
        (f"All is said. I have nothing to add! **{MOVE}**", True),
        (f"Once T01 is settled. {MOVE}", False),
        (f"I would not yet say {MOVE}", False),
        (f"Done. `{MOVE}`", False),
        (f"{MOVE} if the cost is known", False),
        (f"{MOVE}\nif the cost is known", False),
        (f"{MOVE}\nProvided that it is cheap.", False),
        (f"{MOVE}\n\nIf only all were so easy.", True),
        (f"`{MOVE}` is what I would say", False),
        (f"```\n{MOVE}\n```", False),
        (f"{MOVE}\n\n[PERSPECTIVE P09: new]", False),
        (f"{MOVE}\n\n[TENSION T09: new]", False),
        ("nothing", False),
    ],
)
def test_round_converges_if_nothing_is_open(bob, converged):
    assert after(("ann", MOVE), ("bob", bob)).converged is converged


def test_the_judge_settles_tensions_but_does_not_agree():
    ledger = after(
        ("ann", f"[TENSION T01: a]\n{MOVE}"), ("lead", f"[RESOLVED T01: so it is]\n{MOVE}"), ("bob", MOVE)
    )
    assert ledger.converged
    assert not after(("ann", MOVE), ("lead", MOVE)).rounds


def test_scores_come_from_a_table_and_are_added_up():
    table = "| Agent | Wisdom | Consistency | Truth | Relationships | Total |\n|---|---|---|---|---|---|\n| 🧁 Ann | 1 | 2 | 3 | 4 | 99 |"
    ledger = after(("lead", table))
    assert ledger.scores == {"ann": Scores(wisdom=1, consistency=2, truth=3, relationships=4)}
    assert ledger.scores["ann"].total == 10


def test_a_ledger_is_bounded():
    text = "\n".join(f"[TENSION T{n}: x]" for n in range(60))
    ledger = after(*[(f"p{n}", text) for n in range(10)])
    assert len(ledger.tensions) == MAX_ENTRIES


def test_stop_condition_stores_the_ledger_as_data():
    stop = MaxRounds(9) | Converged(EXPERTS)
    state: dict = {}
    for number, name in enumerate(EXPERTS, start=1):
        signs = read_turn_marks([MOVE])
        result = TurnResult(number=number, participant=name, kind=OutcomeKind.MESSAGE, signs=signs)
        result = TurnResult.model_validate_json(result.model_dump_json(exclude_defaults=True))
        state = stop.observe(state, [result], roster_size=2)
    assert Ledger.model_validate(state["ledger"]).converged


def test_faults_of_a_turn_are_reported():
    assert check_turn_form(["Words.\n\n[TENSION T01: x]\n\n[RESOLVED BOB T01: y]"]) == ()
    assert [it.code for it in check_turn_form(["- [TENSION T1]: x"])] == ["marker-form"]
    assert [it.code for it in check_turn_form(["[TENSION T01: x"])] == ["marker-unclosed"]
    assert [it.code for it in check_turn_form(["```\nnever closed"])] == ["fence-unclosed"]
    assert check_turn_form(["## A heading of my own\n\n### Another\n\n| a | b |\n|---|---|\n| 1 | 2 |"]) == ()


def test_judge_scores_come_from_its_structured_answer():
    from symposia.agents.llm.settings import JudgeForm
    from symposia.models.turns.turn import Usage

    form = JudgeForm.model_validate(
        {
            "satisfied": False,
            "next": [{"name": "ann"}],
            "scores": [{"name": "ann", "wisdom": 3, "consistency": 2, "truth": 1, "relationships": 4}],
        }
    )
    decision = form.to_outcome(Usage()).decision
    assert decision is not None
    assert decision.next == ("ann",)
    ledger = Ledger().after_turn(1, "lead", read_turn_marks([], scores=decision.scores), experts=EXPERTS)
    assert ledger.scores["ann"].total == 10
