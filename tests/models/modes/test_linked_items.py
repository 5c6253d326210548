"""Items of a swarm that wait for others, and the reducer that closes the board."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.simulation import Simulation, people
from symposia.models.errors import InvalidInput
from symposia.models.modes import check_mode_options
from symposia.models.modes.board_state import add, contains, numbers_in, remove
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.turns.items import NewItem
from symposia.models.turns.turn import OutcomeKind

NAMES = ("ann", "bob", "cyd")
ENDS = ("done", "dropped")


def new(name=None, *after, **more):
    return NewItem(text=f"do {name}", id=name, after=after, **more)


def session(*items, names=NAMES, stop=None, **options):
    options = ModeOptions(items=items, **options)
    return Simulation(CollabMode.SWARM, people(*names), options=options, stop=stop)


def at_work(swarm):
    return {turn.participant: turn.item.item_id for turn in swarm.open.values() if turn.item}


def last(swarm, name):
    return swarm.board[name][-1]


def refusal(*items, **options):
    with pytest.raises(InvalidInput) as caught:
        check_mode_options(CollabMode.SWARM, people(*NAMES), options=ModeOptions(items=items, **options))
    return str(caught.value)


def test_item_begins_when_all_before_it_are_done():
    swarm = session(new("a"), new("b"), new("c", "a", "b"), new("d"))
    assert at_work(swarm) == {"ann": "a", "bob": "b", "cyd": "d"}
    swarm.say("ann")
    assert at_work(swarm) == {"bob": "b", "cyd": "d"}
    swarm.say("bob")
    assert "c" in at_work(swarm).values()
    assert swarm.run().detail == "4 items done"


def test_items_without_an_id_are_named_by_number():
    swarm = session(NewItem(text="one"), NewItem(text="two", after=(1,)))
    assert at_work(swarm) == {"ann": "1"}
    swarm.say("ann")
    assert set(at_work(swarm).values()) == {"2"}


def test_item_after_a_dropped_one_is_dropped():
    swarm = session(new("a"), new("b", "a"), new("c", "b"), new("d"), names=("ann",))
    swarm.turn_out(OutcomeKind.PASSED, "ann")
    assert [last(swarm, name).status for name in "abc"] == ["dropped"] * 3
    assert (last(swarm, "b").reason, last(swarm, "c").reason) == (
        "item a was dropped",
        "item b was dropped",
    )
    swarm.say("ann")
    assert swarm.finish.detail == "1 item done, 3 dropped"


def test_agent_may_add_items_that_wait():
    swarm = session(new("a"), new("b"))
    swarm.say("ann", items=(new("e", "d"), new("d", "a", "b", data={"n": 1})))
    assert at_work(swarm) == {"bob": "b"}
    swarm.say("bob")
    assert list(at_work(swarm).values()) == ["d"]
    assert swarm.next.item.data == {"n": 1}
    swarm.run()
    assert last(swarm, "e").status == "done"


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ((new("x", "ghost"),), "after: must name items of the board: 'ghost' is unknown"),
        ((new("a"),), "id: must be unique: 'a' is the id of another item"),
        ((new("x", "y"), new("y", "x")), "after: must not form a cycle: x -> y -> x"),
        ((new("x", "x"),), "after: must not form a cycle: x -> x"),
    ],
)
def test_wrongly_linked_item_of_an_agent_is_dropped(items, reason):
    swarm = session(new("a"), names=("ann",))
    swarm.say("ann", items=items)
    assert swarm.finish.detail == f"1 item done, {len(items)} dropped"
    dropped = [entries[-1] for entries in swarm.board.values() if entries[-1].status == "dropped"]
    assert {entry.reason for entry in dropped} == {reason}
    assert last(swarm, "a").status == "done"


def test_wrong_links_are_refused_at_submit():
    assert refusal(new("a", "b"), new("b", "c"), new("c", "a")) == (
        "options.items[0].after: must not form a cycle: a -> b -> c -> a (got 'b')"
    )
    assert refusal(new("a"), new("b", "ghost")).startswith(
        "options.items[1].after: must name items of the board: 'ghost' is unknown"
    )
    assert refusal(new("a"), new("a")).startswith("options.items[1].id: must be unique")
    assert refusal(new("a"), reducer="ghost").startswith("options.reducer: must be the id of a participant")


def test_reducer_has_the_last_turn():
    swarm = session(new("a"), new("b"), reducer="bob")
    swarm.say("ann")
    swarm.say("bob")
    assert (swarm.next.participant, swarm.next.reduces, swarm.next.item) == ("bob", True, None)
    swarm.say("bob", items=(new("late"),))
    assert swarm.finish.detail == "2 items done, 1 dropped, closed by bob"
    assert last(swarm, "late").reason == "the board is closed"


def test_silent_reducer_ends_the_session():
    swarm = session(new("a"), reducer="ann")
    swarm.say("ann")
    swarm.turn_out(OutcomeKind.SKIPPED, "ann", error="failed")
    assert (swarm.finish.reason, swarm.finish.detail) == ("board_empty", "1 item done, ann gave no result")


def test_reducer_needs_a_turn_that_is_left():
    swarm = session(new("a"), reducer="ann", stop=MaxTurns(1))
    swarm.say("ann")
    assert swarm.finish.reason == "board_empty"


def test_state_of_a_long_board_stays_small():
    chain = [new("i1"), *(new(f"i{n}", f"i{n - 1}") for n in range(2, 501))]
    fan = [new(f"f{n}", "i1") for n in range(500)]
    swarm = session(*chain, *fan, max_items=1_000)
    sizes = []
    for _ in range(60):
        swarm.close(min(swarm.open))
        swarm.plan_on()
        sizes.append(len(swarm.state))
    assert max(sizes) < 1_500


def test_session_without_links_has_no_more_state_than_before():
    swarm = session(NewItem(text="one"), NewItem(text="two"), names=("ann",))
    swarm.say("ann")
    assert set(json.loads(swarm.state)["board"]) == {"entries", "drawn", "numbered", "taken", "done"}
    assert not any(turn.indexed for turn in swarm.planned.values())


@st.composite
def graphs(draw):
    """Items in any order, each after any items of lower rank."""
    count = draw(st.integers(1, 12))
    order = draw(st.permutations(range(count)))
    rank = {index: at for at, index in enumerate(order)}
    lower = {i: [f"n{j}" for j in range(count) if rank[j] < rank[i]] for i in range(count)}
    return [
        new(
            f"n{i}",
            *draw(st.lists(st.sampled_from(lower[i]), unique=True, max_size=4) if lower[i] else st.just([])),
        )
        for i in range(count)
    ]


@given(data=st.data())
def test_any_graph_is_worked_on_in_order(data):
    graph = data.draw(graphs())
    split = data.draw(st.integers(1, len(graph)))
    # The rest is added by agents; only what they may refer to by then stays linked.
    known = {it.id for it in graph[:split]}
    initial = [
        it.model_copy(update={"after": tuple(a for a in it.after if a in known)}) for it in graph[:split]
    ]
    rest = list(graph[split:])
    swarm = session(*initial, reducer=data.draw(st.none() | st.just("bob")))
    after = {it.id: it.after for it in (*initial, *rest)}
    done, begun = set(), set()
    while swarm.finish is None:
        for turn in swarm.open.values():
            if turn.item and turn.item.item_id not in begun:
                begun.add(turn.item.item_id)
                assert done.issuperset(after[turn.item.item_id]), "it begins after all before it"
        number = data.draw(st.sampled_from(sorted(swarm.open)))
        turn = swarm.open[number]
        kind = data.draw(st.sampled_from([OutcomeKind.MESSAGE] * 5 + [OutcomeKind.PASSED]))
        is_said = kind is OutcomeKind.MESSAGE
        added = tuple(rest) if is_said and turn.item else ()
        swarm.close(number, kind, items=added)
        rest = [] if added else rest
        if is_said and turn.item:
            done.add(turn.item.item_id)
        if not swarm.open or data.draw(st.booleans()):
            swarm.plan_on()
    for name, entries in swarm.board.items():
        ends = [entry.status for entry in entries if entry.status in ENDS]
        assert ends == [entries[-1].status], f"{name} is closed once"
        if entries[-1].status == "dropped":
            continue
        assert all(last(swarm, other).status == "done" for other in after[name])
    if swarm.finish.reason == "board_empty":
        assert len(swarm.board) == len(after) - len(rest)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 30)), max_size=60))
def test_number_ranges_are_sets(changes):
    ranges, expected = (), set()
    for adds, number in changes:
        ranges = (add if adds else remove)(ranges, number)
        (expected.add if adds else expected.discard)(number)
        assert list(numbers_in(ranges)) == sorted(expected)
        assert all(contains(ranges, n) == (n in expected) for n in range(32))
        assert all(a[1] + 1 < b[0] for a, b in pairwise(ranges)), "neighbours are joined"
