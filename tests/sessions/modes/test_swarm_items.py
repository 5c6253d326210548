"""Items of a swarm with data, results and links, and its reducer, on a real server and a real worker process."""

from __future__ import annotations

import pytest

from live import result_of, until
from symposia import ItemState
from symposia.models.errors import InvalidInput
from symposia.models.sessions.options import ModeOptions

SKIP = {"attempts": 1, "then": "skip"}


def numbered(name, n, *after, **more):
    return {"id": name, "text": f"count {name}", "data": {"n": n, **more}, "after": list(after)}


def by_id(items):
    return {item.id: item for item in items}


def test_item_sees_the_results_of_items_before_it(shared, checked):
    job = shared.submit(
        "swarm",
        {"ann": "accountant", "bob": "accountant"},
        items=[numbered("sum", 100, "a", "b"), numbered("a", 1), numbered("b", 2)],
        reducer="ann",
    )
    result = result_of(job)

    items = by_id(result.items)
    assert [item.id for item in result.items] == ["sum", "a", "b"]
    assert {name: item.output for name, item in items.items()} == {"sum": 103, "a": 1, "b": 2}
    assert (items["sum"].result, items["sum"].state) == ("total 103", ItemState.DONE)
    assert (items["sum"].after, items["sum"].data) == (("a", "b"), {"n": 100})
    assert items["sum"].claimant in ("ann", "bob")
    calls = {call["turn_item"]: call for call in shared.calls()}
    assert calls["sum"]["results"] == {"a": 1, "b": 2}
    assert calls[None]["results"] == {"sum": 103, "a": 1, "b": 2}
    last = result.dialog.messages[-1]
    assert (last.speaker, last.content) == ("ann", "total 106"), "the reducer closes the board"
    assert (result.reason, result.detail) == ("board_empty", "3 items done, closed by ann")
    assert result.items == job.items()
    checked(job, result)


def test_agent_adds_items_that_wait(shared, checked):
    more = [numbered("c", 10, "a"), numbered("d", 100, "c"), numbered("lost", 0, "ghost")]
    job = shared.submit("swarm", {"ann": "accountant"}, items=[numbered("a", 1, add=more)])
    result = result_of(job)

    items = by_id(result.items)
    assert {name: item.output for name, item in items.items()} == {"a": 1, "c": 11, "d": 111, "lost": None}
    assert items["lost"].state is ItemState.DROPPED
    assert items["lost"].reason == "after: must name items of the board: 'ghost' is unknown"
    checked(job, result)


def test_item_after_a_failed_one_is_dropped(shared, checked):
    items = [numbered("a", 1, fails=True), numbered("b", 2, "a"), numbered("c", 3)]
    job = shared.submit("swarm", {"ann": "accountant"}, items=items, policy=SKIP)
    result = result_of(job)

    items = by_id(result.items)
    assert [items[name].state.value for name in "abc"] == ["dropped", "dropped", "done"]
    assert items["b"].reason == "item a was dropped"
    checked(job, result)


def test_held_result_reaches_the_item_that_waits(shared, tmp_path):
    gate = tmp_path / "gate"
    job = shared.submit(
        "swarm",
        {"ann": "gated", "bob": "accountant"},
        items=[{"id": "a", "text": "wait", "role": "ann"}, {**numbered("b", 1, "a"), "role": "bob"}],
        parameters={"gate": str(gate)},
    )
    until(shared.calls, what="the first item is in work")
    assert [item.state.value for item in job.items()] == ["claimed", "waiting"]
    job.suspend()
    gate.touch()
    until(lambda: any(t.status == "held" for t in job.state().open_turns()), what="the turn is held")
    job.resume()
    result_of(job)
    assert list(shared.calls()[-1]["results"]) == ["a"]


def test_fork_sees_the_results_of_items_before_it(shared):
    job = shared.submit(
        "swarm",
        {"ann": "accountant"},
        items=[numbered("a", 1), numbered("b", 2, "a"), numbered("c", 3, "b")],
        reducer="ann",
    )
    result_of(job)
    forked = result_of(job.fork(at_turn=2))
    assert [call["results"] for call in shared.calls()[-3:]] == [{"a": 1}, {"b": 3}, {"a": 1, "b": 3, "c": 6}]
    assert forked.detail == "3 items done, closed by ann"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"items": [numbered("a", 1, "a")]}, "options.items[0].after: must not form a cycle: a -> a"),
        ({"items": [numbered("a", 1, "b")]}, "options.items[0].after: must name items of the board: 'b'"),
        ({"items": [{"text": "x", "id": "7"}]}, "options.items[0].id"),
        ({"items": [{"text": "x", "data": "y" * 8_001}]}, "options.items[0].data: must be at most 8000"),
        ({"reducer": "ghost"}, "options.reducer: must be the id of a participant: ann"),
        (
            {"items": [numbered("a", 1)], "options": ModeOptions(items=[{"text": "b"}])},
            "items: must not be set together with options.items",
        ),
    ],
)
def test_wrong_items_get_one_line(shared, how, said):
    with pytest.raises(InvalidInput) as caught:
        shared.submit("swarm", {"ann": "accountant"}, **how)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)
