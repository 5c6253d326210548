"""Evaluations as data: bad input gets one line, and the id of a run follows from its content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.evaluation.cases import Evaluation, merge_session
from symposia.models.errors import InvalidInput

SESSION = {
    "title": "A sign",
    "purpose": "Write a sign.",
    "mode": "pair",
    "participants": [{"participant_id": "ann"}, {"participant_id": "bob"}],
    "agents": {"ann": "echo", "bob": "echo"},
}
BASE = {
    "name": "e",
    "session": SESSION,
    "cases": [{"message": "door", "expect": "d"}],
    "scorers": [{"contains": "d"}],
}

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(str.strip)
tables = st.dictionaries(
    st.sampled_from(["agents", "options", "mode", "stop"]), st.none() | st.just({"a": 1})
)


def evaluation(**changes):
    return Evaluation.read({**BASE, **changes})


def ids(found):
    return {(it.case_name, it.variant, it.repeat): it.session_id for it in found.runs()}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"cases": []}, "cases: "),
        ({"cases": [{"message": " "}]}, "cases[0].message: must not be blank"),
        ({"cases": [{"message": "m", "expected": 1}]}, "cases[0].expected: is not a known field"),
        ({"cases": [{"name": "a", "message": "m"}] * 2}, "cases: must have different names (got 'a')"),
        ({"scorers": [{}]}, "scorers[0]: must have exactly one of contains, regex, equals, program, judge"),
        ({"scorers": [{"contains": "a", "regex": "b"}]}, "scorers[0]: must have exactly one of"),
        (
            {"scorers": [{"regex": "(?=a)"}]},
            "scorers[0].regex: must be a regular expression without look-around",
        ),
        (
            {"scorers": [{"contains": "a", "criteria": "c"}]},
            "scorers[0].criteria: must be set only together with judge",
        ),
        (
            {"scorers": [{"program": ["x"], "field": "f"}]},
            "scorers[0].field: must be set only together with contains",
        ),
        (
            {"scorers": [{"contains": "a"}, {"contains": "b"}]},
            "scorers: must have different names (got 'contains')",
        ),
        (
            {"cases": [{"message": "m"}], "scorers": [{"equals": "{expect}"}]},
            "cases[0].expect: must be set, because scorer 'equals' uses it",
        ),
        ({"repeats": 0}, "repeats: must be greater than or equal to 1 (got 0)"),
        (
            {"repeats": 100, "cases": [{"message": str(it)} for it in range(101)]},
            "cases: must give at most 10,000 runs",
        ),
        ({"variants": {"v": {"collab_id": "x"}}}, "variants.v.collab_id: must not be set in an evaluation"),
        ({"session": {**SESSION, "thread_id": "x"}}, "session.thread_id: must not be set in an evaluation"),
        ({"scorers": [{"program": ["a\0"]}]}, "scorers[0].program[0]: must not contain NUL characters"),
        (
            {"scorers": [{"program": ["a"], "env": ["b\0"]}]},
            "scorers[0].env[0]: must not contain NUL characters",
        ),
        (
            {"cases": [{"message": "m", "expect": ["\ud800"]}]},
            "cases[0].expect: must be valid UTF-8 text",
        ),
        (
            {"scorers": [{"equals": float("inf")}]},
            "scorers[0].equals: must contain finite numbers only",
        ),
        ({"limits": {"max_usd": 0}}, "limits.max_usd: must be greater than 0"),
    ],
)
def test_bad_input_gets_one_line(changes, line):
    with pytest.raises(InvalidInput) as error:
        evaluation(**changes)
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda it: st.lists(it) | st.dictionaries(st.text(), it),
    )
)
def test_any_data_is_read_or_refused_in_one_line(data):
    for field in ("cases", "variants", "scorers", "session", "limits"):
        assert "\n" not in line_of_error(**{field: data})


def line_of_error(**changes):
    try:
        evaluation(**changes)
    except InvalidInput as error:
        return str(error)
    return ""


@given(st.lists(names, min_size=1, max_size=4, unique_by=str.strip), st.integers(1, 3), st.integers(1, 4))
def test_each_run_has_an_id_of_its_own(variants, repeats, cases):
    found = evaluation(
        variants={name: {} for name in variants},
        repeats=repeats,
        cases=[{"message": "the same"} for _ in range(cases)],
    )
    assert len(set(ids(found).values())) == len(variants) * repeats * cases
    assert ids(found) == ids(found)


def test_an_id_changes_with_the_session_only():
    two = [{"message": "door", "expect": "d"}, {"message": "lamp", "expect": "l"}]
    before = ids(evaluation(cases=two))
    assert ids(evaluation(cases=two, scorers=[{"regex": "x"}], parallel=2)) == before
    assert ids(evaluation(cases=[{**two[0], "expect": "other"}, two[1]])) == before
    changed = ids(evaluation(cases=[two[0], {**two[1], "message": "a lamp"}]))
    assert {key for key in before if before[key] != changed[key]} == {("2", "base", 1)}
    assert set(ids(evaluation(cases=two, name="f")).values()).isdisjoint(before.values())


def test_the_order_of_fields_does_not_change_an_id():
    turned = dict(reversed(SESSION.items()))
    assert ids(evaluation(session=turned)) == ids(evaluation())


def test_a_case_ends_the_opening_messages():
    run = next(evaluation(session={**SESSION, "messages": ["before"]}).runs())
    assert run.document["messages"] == ["before", "door"]
    assert run.document["title"] == "1 / base #1: A sign"


def test_a_variant_merges_tables_and_replaces_the_rest():
    session = {
        "agents": {"ann": "echo", "bob": "echo"},
        "options": {"quorum": 1},
        "mode": "pair",
        "stop": {"max_rounds": 2},
    }
    changes = {"agents": {"bob": "local"}, "options": None, "mode": "broadcast", "stop": {"max_turns": 1}}
    assert merge_session(session, changes) == {
        "agents": {"ann": "echo", "bob": "local"},
        "mode": "broadcast",
        "stop": {"max_turns": 1},
    }


def test_null_removes_an_agent_that_only_a_participant_names():
    assert merge_session({"mode": "pair"}, {"agents": {"ann": None, "bob": "echo"}}) == {
        "mode": "pair",
        "agents": {"bob": "echo"},
    }


@given(tables, tables)
def test_a_merge_keeps_no_null_and_loses_no_other_field(session, changes):
    merged = merge_session(session, changes)
    assert None not in merged.values()
    assert set(merged) == {
        name
        for name in {*session, *changes}
        if changes.get(name, session.get(name)) is not None
        and name not in {it for it in changes if changes[it] is None}
    }


def with_inputs(*cases, **changes):
    declared = [{"name": "topic"}, {"name": "size", "type": "integer", "default": 2}]
    session = {**SESSION, "purpose": "Write {size} signs about {topic}.", "inputs": declared}
    return evaluation(session=session, cases=[{"expect": 1, **it} for it in cases], **changes)


def test_inputs_of_a_case_fill_the_session_and_its_variants():
    cases = [
        {"inputs": {"topic": "{doors}"}},
        {"message": "Of {brass}.", "inputs": {"topic": "lamps", "size": 3}},
    ]
    found = list(with_inputs(*cases, variants={"base": {}, "bold": {"purpose": "Shout {topic}!"}}).runs())
    purposes = [it.document["purpose"] for it in found]
    assert purposes == [
        *("Write 2 signs about {doors}.", "Shout {doors}!"),
        *("Write 3 signs about lamps.", "Shout lamps!"),
    ]
    assert [it.document["messages"] for it in found] == [[], [], *[["Of {brass}."]] * 2]
    assert found[0].submission().inputs == {"topic": "{doors}", "size": 2}


def test_another_input_is_another_run():
    one, two = {"inputs": {"topic": "doors"}}, {"inputs": {"topic": "lamps"}}
    before, after = ids(with_inputs(one, two)), ids(with_inputs(one, {"inputs": {"topic": "rooms"}}))
    assert {key for key in before if before[key] != after[key]} == {("2", "base", 1)}


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ({}, "cases[1].message: is required in a case without inputs"),
        ({"message": "m"}, "cases[1].inputs.topic: is required, of type string, in case 'lamp'"),
        (
            {"inputs": {"topic": "a", "tone": "b"}},
            "cases[1].inputs.tone: must be an input of the session file",
        ),
        (
            {"inputs": {"topic": "a", "size": "b"}},
            "cases[1].inputs.size: must be an integer of at most 18 digits, in case 'lamp' (got 'b')",
        ),
        ({"inputs": {"topic": None}}, "cases[1].inputs.topic: must be UTF-8 text"),
        ({"inputs": ["topic"]}, "cases[1].inputs: must be a valid dictionary"),
    ],
)
def test_wrong_inputs_of_a_case_are_refused(case, line):
    with pytest.raises(InvalidInput) as error:
        with_inputs({"inputs": {"topic": "doors"}}, {"name": "lamp", **case})
    assert line in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("variant", "line"),
    [
        ({"inputs": []}, "variants.v.inputs: must not be set in a variant"),
        ({"purpose": "{tone}"}, "variants.v.purpose: must be the name of an input (known: topic, size)"),
    ],
)
def test_a_variant_names_declared_inputs_only(variant, line):
    with pytest.raises(InvalidInput) as error:
        with_inputs({"inputs": {"topic": "doors"}}, variants={"v": variant})
    assert line in str(error.value)


def test_braces_have_no_meaning_without_inputs():
    run = next(evaluation(session={**SESSION, "purpose": "Write {a}."}).runs())
    assert run.document["purpose"] == "Write {a}."
    with pytest.raises(InvalidInput, match=r"cases\[0\].inputs.a: must be an input of the session file"):
        evaluation(cases=[{"inputs": {"a": 1}, "expect": 1}])


def test_texts_that_inputs_make_too_long_are_refused():
    session = {**SESSION, "messages": ["{topic}" * 2000], "inputs": [{"name": "topic"}]}
    found = evaluation(
        session=session, cases=[{"inputs": {"topic": it}, "expect": 1} for it in ("a", "a" * 32_768)]
    )
    with pytest.raises(InvalidInput, match=r"^cases\[1\].messages\[0\]: must leave the texts"):
        list(found.runs())
