"""Stop conditions: composition, evaluation, what they remember."""

from __future__ import annotations

import itertools
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from symposia.models.sessions.plan import Totals
from symposia.models.sessions.spec import SessionSpec
from symposia.models.sessions.stop_conditions import (
    STOP_CONDITION,
    AllOf,
    AnyOf,
    CostBudget,
    Deadline,
    MaxRounds,
    MaxTurns,
    RoundOfPasses,
    TextSeen,
    TokenBudget,
)
from symposia.models.turns.items import NewItem, WorkItem
from symposia.models.turns.turn import Decision, OutcomeKind, RemainingBudget, TurnResult, Usage

counts = st.integers(1, 50)
leaves = st.one_of(
    st.builds(MaxTurns, counts),
    st.builds(MaxRounds, counts),
    st.builds(TokenBudget, counts),
    st.builds(CostBudget, st.floats(0.001, 1)),
    st.builds(Deadline, st.floats(0.5, 60)),
    st.builds(
        TextSeen, st.sampled_from(["a", "B"]), by=st.none() | st.just("ann"), ignore_case=st.booleans()
    ),
    st.builds(RoundOfPasses),
)
conditions = st.recursive(
    leaves,
    lambda parts: st.builds(
        lambda kind, it: kind(tuple(it)),
        st.sampled_from([AnyOf, AllOf]),
        st.lists(parts, min_size=1, max_size=3),
    ),
    max_leaves=8,
)
totals = st.builds(
    Totals,
    turns=st.integers(0, 60),
    rounds=st.integers(0, 60),
    usage=st.builds(Usage, input_tokens=st.integers(0, 60), cost_micros=st.integers(0, 1_000_000)),
    elapsed_s=st.floats(0, 100),
)


def result(participant="ann", kind=OutcomeKind.MESSAGE, **fields):
    return TurnResult(number=1, participant=participant, kind=kind, **fields)


def said(condition, text, participant="ann"):
    """The state after one turn that said `text`."""
    marks = condition.match_texts([text], participant)
    return condition.observe({}, [result(participant, marks=marks)], roster_size=2)


@pytest.mark.parametrize(
    ("condition", "before", "at", "code", "detail"),
    [
        (MaxTurns(3), Totals(turns=2), Totals(turns=3), "max_turns", "3 of 3 turns"),
        (MaxRounds(2), Totals(rounds=1), Totals(rounds=2), "max_rounds", "2 of 2 rounds"),
        (
            TokenBudget(1_000),
            Totals(usage=Usage(input_tokens=999)),
            Totals(usage=Usage(input_tokens=600, output_tokens=634)),
            "token_budget",
            "1,234 of 1,000 tokens",
        ),
        (
            CostBudget(0.25),
            Totals(usage=Usage(cost_micros=249_999)),
            Totals(usage=Usage(cost_micros=250_000)),
            "cost_budget",
            "0.25 of 0.25 US dollars",
        ),
        (Deadline(60), Totals(elapsed_s=59.9), Totals(elapsed_s=60.5), "deadline", "60.5 of 60 seconds"),
    ],
)
def test_a_limit_is_met_exactly_when_it_is_reached(condition, before, at, code, detail):
    assert condition.reason({}, before) is None
    reason = condition.reason({}, at)
    assert (reason.code, reason.detail, reason.urgent) == (code, detail, code == "deadline")


def test_text_is_found_anywhere_in_any_case():
    done = TextSeen("Done")
    assert done.reason(said(done, "we are DONE here"), Totals()).detail == "someone said 'Done'"
    assert done.reason(said(done, "not yet"), Totals()) is None


def test_text_may_require_a_speaker_or_a_case():
    by_ann, exact = TextSeen("done", by="ann"), TextSeen("DONE", ignore_case=False)
    assert by_ann.match_texts(["done"], "ann") == (0,)
    assert by_ann.match_texts(["done"], "bob") == ()
    assert (exact.match_texts(["done"], "ann"), exact.match_texts(["so", "DONE"], "ann")) == ((), (0,))


def test_each_text_has_its_own_index_depth_first():
    condition = MaxTurns(9) | (TextSeen("a") & TextSeen("b")) | TextSeen("c")
    assert condition.match_texts(["c b"], "ann") == (1, 2)
    only_b = said(condition, "b")
    assert condition.reason(only_b, Totals()) is None
    then_a = condition.observe(only_b, [result(marks=condition.match_texts(["a"], "bob"))], roster_size=2)
    assert condition.reason(then_a, Totals()).detail == "someone said 'a' and someone said 'b'"


def test_round_of_passes_needs_everyone():
    passes = RoundOfPasses()
    state = {}
    for who, kind, met in [
        ("ann", OutcomeKind.PASSED, False),
        ("ann", OutcomeKind.PASSED, False),
        ("bob", OutcomeKind.MESSAGE, False),
        ("bob", OutcomeKind.SKIPPED, False),
        ("ann", OutcomeKind.PASSED, True),
        ("ann", OutcomeKind.MESSAGE, False),
    ]:
        state = passes.observe(state, [result(who, kind)], roster_size=2)
        assert bool(passes.reason(state, Totals())) == met


def observed(turns: str, state=None):
    """The state after turns of `a` and `b`: in capitals they repeat messages, after a dot they pass."""
    passed, results = OutcomeKind.PASSED, []
    for number, (mark, who) in enumerate(re.findall(r"(\.?)(\w)", turns), 1):
        fields = {"kind": passed} if mark else {"repeats": who.isupper()}
        results.append(result(who.lower(), **fields).model_copy(update={"number": number}))
    return RoundOfPasses().observe(state or {}, results, roster_size=2)


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ("abAB", None),
        ("abABA", ("repetition", "the participants repeat themselves, last in turns 3, 4, 5")),
        ("abABAB", ("repetition", "the participants repeat themselves, last in turns 4, 5, 6")),
        ("aAAA", None),
        ("aAAAB", ("repetition", "the participants repeat themselves, last in turns 3, 4, 5")),
        ("abABbAB", None),
        ("ab.aB", None),
        ("ab.aB.aB.a", None),
        ("ab.aB.aB.aB", ("repetition", "the participants repeat themselves, last in turns 4, 6, 8")),
        ("ab.a.b", ("round_of_passes", "every participant passed")),
        ("abABb.a.b", ("round_of_passes", "every participant passed")),
    ],
)
def test_repetition_of_all_ends_like_a_round_of_passes(turns, reason):
    met = RoundOfPasses().reason(observed(turns), Totals())
    assert (met and (met.code, met.detail)) == reason


@given(st.lists(st.sampled_from(["a", "b", "A", "B", ".a", ".b"]), max_size=20))
def test_nothing_but_repetitions_and_passes_of_all_ends_a_session(turns):
    tail = list(itertools.takewhile(lambda turn: turn not in ("a", "b"), reversed(turns)))
    repeats = sum(turn.isupper() for turn in tail)
    is_met = {turn.strip(".").lower() for turn in tail} == {"a", "b"} and (repeats == 0 or repeats >= 3)
    state = observed("".join(turns))
    assert (RoundOfPasses().reason(state, Totals()) is not None) == is_met
    assert observed("".join(turns), state) == state
    assert repeats or "repeats" not in state


@pytest.mark.parametrize(
    "more",
    [
        {"decision": Decision()},
        {"items": (NewItem(text="x"),)},
        {"hand_off": "bob", "item": WorkItem(item_id="1", text="x")},
    ],
)
def test_turn_with_a_decision_or_item_is_no_pass(more):
    state = RoundOfPasses().observe({}, [result(kind=OutcomeKind.PASSED, **more)], roster_size=1)
    assert state == {}


def test_hand_off_without_a_work_item_is_a_pass():
    state = RoundOfPasses().observe({}, [result(kind=OutcomeKind.PASSED, hand_off="bob")], roster_size=1)
    assert RoundOfPasses().reason(state, Totals())


def test_or_reports_the_first_met_condition():
    either = MaxTurns(3) | MaxRounds(1) | Deadline(5)
    assert either.reason({}, Totals(turns=3, rounds=1)).code == "max_turns"
    assert either.reason({}, Totals(turns=3, elapsed_s=5)).code == "deadline"


def test_and_is_met_by_all_and_names_all():
    both = MaxTurns(3) & MaxRounds(1)
    assert both.reason({}, Totals(turns=3)) is None
    assert both.reason({}, Totals(turns=4, rounds=1)).code == "max_turns+max_rounds"
    assert not both.reason({}, Totals(turns=4, rounds=1)).urgent
    assert (MaxTurns(3) & Deadline(5)).reason({}, Totals(turns=3, elapsed_s=5)).urgent


def test_composition_is_flat():
    a, b, c, d = (MaxTurns(n) for n in (1, 2, 3, 4))
    assert (a | b | c).conditions == (a, b, c)
    assert (a & b) & (c & d) == AllOf((a, b, c, d))
    assert (a | (b & c) | d) == AnyOf((a, AllOf((b, c)), d))


def test_remaining_is_the_minimum_of_or_maximum_of_and():
    totals = Totals(turns=2, usage=Usage(input_tokens=30, cost_micros=100_000), elapsed_s=4)
    either = MaxTurns(5) | MaxTurns(3) | TokenBudget(100) | CostBudget(0.5) | Deadline(10)
    assert either.remaining(totals) == RemainingBudget(turns=1, tokens=70, cost_micros=400_000, seconds=6)
    assert (MaxTurns(5) & MaxTurns(3)).turns_left(totals) == 3
    assert (MaxTurns(5) & TextSeen("x")).turns_left(totals) is None
    assert MaxTurns(1).turns_left(totals) == 0


@given(conditions, totals)
def test_no_turns_left_meets_the_condition(condition, totals):
    if condition.turns_left(totals) == 0:
        assert condition.reason({}, totals) is not None


@given(conditions)
def test_condition_survives_json_without_defaults(condition):
    assert STOP_CONDITION.validate_json(json.dumps(condition.to_data())) == condition
    spec = SessionSpec(agents={}, stop=condition)
    assert SessionSpec.model_validate_json(spec.model_dump_json(exclude_defaults=True)).stop == condition


results = st.lists(
    st.builds(
        result,
        st.sampled_from(["ann", "bob", "cyd"]),
        st.sampled_from(OutcomeKind),
        marks=st.lists(st.integers(0, 7), max_size=2).map(tuple),
    ),
    max_size=12,
)


@given(conditions, results, st.data())
def test_observed_state_survives_a_restart(condition, results, data):
    at_once = condition.observe({}, results, roster_size=3)
    cut = data.draw(st.integers(0, len(results)))
    first = json.loads(json.dumps(condition.observe({}, results[:cut], roster_size=3)))
    assert condition.observe(first, results[cut:], roster_size=3) == at_once


@given(conditions, results)
def test_observing_turns_twice_changes_nothing(condition, results):
    once = condition.observe({}, results, roster_size=3)
    assert condition.observe(once, results, roster_size=3) == once


@given(conditions, results, results)
def test_seen_text_stays_seen(condition, earlier, later):
    before = condition.observe({}, earlier, roster_size=3)
    after = condition.observe(before, later, roster_size=3)
    assert set(before.get("seen", [])) <= set(after.get("seen", []))


@pytest.mark.parametrize(
    "build",
    [
        lambda: MaxTurns(0),
        lambda: MaxTurns(True),
        lambda: MaxRounds("3"),
        lambda: TokenBudget(-1),
        lambda: CostBudget(0.0),
        lambda: Deadline(math.inf),
        lambda: TextSeen(""),
        lambda: AnyOf(()),
        lambda: AllOf(()),
    ],
)
def test_invalid_limits_are_refused(build):
    with pytest.raises(ValidationError):
        build()


def test_conditions_compare_by_value():
    assert MaxTurns(3) == MaxTurns(turns=3)
    assert len({MaxTurns(3) | TextSeen("x"), MaxTurns(3) | TextSeen("x")}) == 1
    assert repr(MaxTurns(3) & RoundOfPasses()) == "AllOf(conditions=(MaxTurns(turns=3), RoundOfPasses()))"
