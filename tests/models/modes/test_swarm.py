"""Swarm: a board of items, taken by free and eligible participants."""

from __future__ import annotations

from sessions.simulation import PURPOSE, Simulation, item, people
from symposia.models.modes.board import Board
from symposia.models.modes.board_state import BoardState
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.turns.turn import OutcomeKind, TurnResult


def session(*names, items=(), stop=None, roles=None, **options):
    items = tuple(item(it) if isinstance(it, str) else it for it in items)
    return Simulation(
        CollabMode.SWARM,
        people(*names, **(roles or {})),
        options=ModeOptions(items=items, **options),
        stop=stop,
    )


def at_work(swarm):
    return {turn.participant: turn.item.text for turn in swarm.open.values()}


def shown(swarm, text):
    (entries,) = (it for it in swarm.board.values() if it[-1].item.text == text)
    return [entry.status for entry in entries]


def why(swarm, text):
    return next(it[-1].reason for it in swarm.board.values() if it[-1].item.text == text)


def test_purpose_is_the_only_item_if_none_are_given():
    swarm = session("ann", "bob")
    assert at_work(swarm) == {"ann": PURPOSE}
    swarm.say("ann")
    assert (swarm.finish.reason, swarm.finish.detail) == ("board_empty", "1 item done")


def test_free_participants_take_the_oldest_items():
    swarm = session("ann", "bob", items=["one", "two", "three"])
    assert at_work(swarm) == {"ann": "one", "bob": "two"}
    assert [turn.scope for turn in swarm.open.values()] == ["item:1", "item:2"]
    swarm.say("bob")
    assert at_work(swarm) == {"ann": "one", "bob": "three"}


def test_board_shows_the_state_of_an_item():
    swarm = session("ann", items=["one", "two"])
    assert (shown(swarm, "one"), shown(swarm, "two")) == (["claimed"], ["open"])
    swarm.run()
    assert (shown(swarm, "one"), shown(swarm, "two")) == (["claimed", "done"], ["open", "claimed", "done"])
    done = swarm.board["1"][-1]
    assert (done.participant, done.turn_number) == ("ann", 1)


def test_item_is_taken_only_by_its_role_or_participant():
    swarm = session("ann", "tess", "tom", roles={"tess": "tester", "tom": "tester"},
                    items=[item("test", "Tester"), item("for tom", "tom"), item("any")])  # fmt: skip
    assert at_work(swarm) == {"ann": "any", "tess": "test", "tom": "for tom"}


def test_agent_may_add_items_for_anyone_or_a_role():
    swarm = session("ann", "bob", items=["plan"])
    swarm.say("ann", items=(item("build"), item("check", "ann")))
    assert at_work(swarm) == {"bob": "build", "ann": "check"}
    assert swarm.run().reason == "board_empty"
    assert swarm.final_board() == {"plan": "done", "build": "done", "check": "done"}


def test_item_that_was_split_is_done():
    swarm = session("ann", items=["plan"])
    swarm.turn_out(OutcomeKind.PASSED, "ann", items=(item("build"),))
    assert shown(swarm, "plan")[-1] == "done"


def test_item_for_an_unknown_participant_is_dropped():
    swarm = session("ann", items=["plan"])
    swarm.say("ann", items=(item("paint", "painter"),))
    assert swarm.finish.reason == "board_empty"
    assert (shown(swarm, "paint"), why(swarm, "paint")) == (["dropped"], "no participant has role 'painter'")
    assert swarm.finish.detail == "1 item done, 1 dropped"


def test_items_beyond_the_limit_are_dropped_and_shown():
    swarm = session("ann", items=["plan"], max_items=2)
    swarm.say("ann", items=(item("two"), item("three")))
    assert (shown(swarm, "three"), why(swarm, "three")) == (["dropped"], "the board is full (2 items)")
    swarm.run()
    assert swarm.final_board() == {"plan": "done", "two": "done", "three": "dropped"}


def test_item_may_be_handed_to_another_role():
    swarm = session("ann", "tess", roles={"tess": "tester"}, items=["build", "paint"])
    swarm.say("ann", hand_off="Tester")
    assert at_work(swarm) == {"tess": "paint"}, "ann may not take it back"
    swarm.say("tess")
    assert at_work(swarm) == {"tess": "build"}
    assert swarm.next.item.hand_offs == 1


def test_item_handed_to_an_unknown_participant_is_open():
    swarm = session("ann", "bob", items=[item("build", "ann")])
    swarm.say("ann", hand_off="the expert")
    assert at_work(swarm) == {"bob": "build"}


def test_item_handed_off_too_often_stays():
    swarm = session("ann", "bob", items=["hot potato"], max_ping_pong=1)
    swarm.say("ann", hand_off="bob")
    swarm.say("bob", hand_off="ann")
    swarm.say("ann", hand_off="bob")
    assert at_work(swarm) == {"ann": "hot potato"}
    assert swarm.next.instruction == "This item was handed off 2 times: it now stays with you."
    swarm.say("ann")
    assert swarm.final_board() == {"hot potato": "done"}


def test_item_handed_off_when_it_must_stay_is_dropped():
    swarm = session("ann", "bob", items=["hot potato"], max_hand_offs=0)
    swarm.say("ann", hand_off="bob")
    assert at_work(swarm) == {"ann": "hot potato"}
    swarm.say("ann", hand_off="bob")
    assert (swarm.finish.reason, swarm.final_board()) == ("board_empty", {"hot potato": "dropped"})


def test_item_that_someone_passes_on_goes_to_others():
    swarm = session("ann", "bob", "cyd", items=["chore"])
    swarm.turn_out(OutcomeKind.PASSED, "ann")
    assert at_work(swarm) == {"bob": "chore"}
    swarm.turn_out(OutcomeKind.SKIPPED, "bob", error="deadline")
    assert at_work(swarm) == {"cyd": "chore"}
    swarm.say("cyd")
    assert swarm.final_board() == {"chore": "done"}


def test_item_that_everyone_passes_on_is_dropped():
    swarm = session("ann", "bob", items=["chore"])
    swarm.turn_out(OutcomeKind.PASSED, "ann")
    swarm.turn_out(OutcomeKind.PASSED, "bob")
    assert (swarm.finish.reason, why(swarm, "chore")) == (
        "board_empty",
        "every eligible participant passed on it",
    )


def test_item_is_returned_three_times_at_most():
    swarm = session("ann", "bob", "cyd", "dan", items=["chore"])
    for name in ("ann", "bob", "cyd"):
        swarm.turn_out(OutcomeKind.SKIPPED, name, error="deadline")
    assert (swarm.finish.reason, why(swarm, "chore")) == (
        "all_turns_failed",
        "put back 3 times, last reason: deadline",
    )


def test_longest_idle_participant_takes_the_next_item():
    swarm = session("ann", "bob", "cyd", items=["one"])
    for name, following in (("ann", "bob"), ("bob", "cyd"), ("cyd", "ann")):
        swarm.say(name, items=(item(f"after {name}"),))
        assert swarm.waiting() == [following]


def test_turn_limit_leaves_items_open_on_the_board():
    swarm = session("ann", "bob", items=["one", "two", "three", "four", "five"], stop=MaxTurns(3))
    assert swarm.run().reason == "max_turns"
    assert len(swarm.closed) == 3
    assert swarm.final_board() == {
        "one": "done", "two": "done", "three": "done", "four": "dropped", "five": "dropped",
    }  # fmt: skip
    assert why(swarm, "five") == "the session ended: max_turns"


def test_last_item_on_the_last_turn_empties_the_board():
    swarm = session("ann", items=["one", "two"], stop=MaxTurns(2))
    assert swarm.run().reason == "board_empty"


def test_permanent_failure_drops_the_item():
    swarm = session("ann", "bob", items=["one", "two", "three"])
    swarm.turn_out(OutcomeKind.FAILED, "ann", error="boom")
    assert (swarm.finish.reason, swarm.finish.aborted) == ("failed", True)
    assert swarm.final_board() == {"one": "dropped", "two": "dropped", "three": "dropped"}


def test_item_of_a_dropped_turn_is_returned():
    swarm = session("ann", "bob", items=["one", "two"])
    del swarm.open[1]
    swarm.say("bob")
    assert "one" in at_work(swarm).values()


def test_only_the_claimant_can_close_an_item():
    board = Board(BoardState(), roster=people("ann", "bob"), options=ModeOptions())
    board.add_item(item("one"))
    claimed = board.claim_item(people("ann")[0])
    board.apply_turn(TurnResult(number=1, participant="bob", kind=OutcomeKind.MESSAGE, item=claimed.item))
    assert not board.is_empty
    board.apply_turn(TurnResult(number=2, participant="ann", kind=OutcomeKind.MESSAGE, item=claimed.item))
    assert board.is_empty
