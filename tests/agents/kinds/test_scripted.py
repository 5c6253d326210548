"""Scripted agents: the order of replies and their placeholders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scaling import patient
from symposia.agents.kinds.scripted import (
    SCRIPT_WINDOW,
    AtEnd,
    ScriptedReply,
    messages_needed,
    scripted_agent,
    turns_before,
)
from symposia.models.errors import AgentFailed
from symposia.models.protocol.collab import CollabMode, Participant
from symposia.models.turns.items import NewItem, WorkItem
from symposia.models.turns.turn import Decision, TurnContext, TurnOutcome, Usage


def script(*replies, at_end=AtEnd.REPEAT):
    return scripted_agent([ScriptedReply.model_validate(reply) for reply in replies], at_end=at_end)


def texts(outcome):
    return [draft.content for draft in outcome.messages]


def said_at(agent, turn, numbers, **changes):
    return [texts(agent.speak_now(turn(turn_number=number, **changes))) for number in numbers]


def test_replies_come_in_order_and_the_last_repeats(turn):
    agent = script("one", "two", "three")
    assert said_at(agent, turn, [1, 4, 7, 10, 13]) == [["one"], ["two"], ["three"], ["three"], ["three"]]


def test_script_may_repeat_from_the_start(turn):
    agent = script("one", "two", at_end=AtEnd.CYCLE)
    assert said_at(agent, turn, [1, 4, 7, 10]) == [["one"], ["two"], ["one"], ["two"]]


@pytest.mark.parametrize("replies", [("one",), ("one", "two")])
def test_script_may_pass_at_its_end(turn, replies):
    agent = script(*replies, at_end=AtEnd.PASS)
    last = turn(turn_number=3 * len(replies) + 1)
    assert agent.speak_now(last) == TurnOutcome.skip_turn()


def test_reply_for_a_turn_number_comes_first(turn):
    agent = script("one", {"say": "fourth!", "turn": 4}, "two")
    assert said_at(agent, turn, [1, 4, 7]) == [["one"], ["fourth!"], ["two"]]


def test_script_of_single_turns_passes_otherwise(turn):
    agent = script({"say": "now", "turn": 2})
    assert said_at(agent, turn, [1, 2, 3]) == [[], ["now"], []]


def test_pass_counts_in_the_order(turn):
    agent = script("one", {"pass": True}, "three")
    assert said_at(agent, turn, [1, 4, 7]) == [["one"], [], ["three"]]


@pytest.mark.parametrize("mode", [CollabMode.ORCHESTRATED, CollabMode.SWARM])
def test_script_order_follows_its_own_messages(turn, message, mode):
    agent = script("one", "two", "three")
    seen = [message("ann", "one", 1), message("bob", "ah", 2), message("ann", "two", 5)]
    assert texts(agent.speak_now(turn(turn_number=9, mode=mode, messages=seen[:2]))) == ["two"]
    assert texts(agent.speak_now(turn(turn_number=9, mode=mode, messages=seen))) == ["three"]


def test_two_messages_of_one_turn_count_as_one_turn(turn, message):
    seen = [message("ann", "one", 1), message("ann", "and", 1)]
    assert turns_before(turn(mode=CollabMode.SWARM, messages=seen)) == 1


@given(
    size=st.integers(2, 12),
    rounds=st.integers(1, 40),
    mode=st.sampled_from(["round_robin", "pair", "broadcast"]),
)
def test_round_is_known_from_the_turn_number(size, rounds, mode):
    roster = tuple(Participant(participant_id=f"p{i}") for i in range(size))
    for number in range(1, size * rounds + 1):
        me = roster[(number - 1) % size]
        context = TurnContext(
            session_id="s", mode=mode, title="t", purpose="p", me=me, roster=roster, turn_number=number,
            one_turn_each=True,
        )  # fmt: skip
        assert turns_before(context) == (number - 1) // size


def test_placeholders_are_replaced(turn, message):
    agent = script("{me}, turn {turn}, on {purpose}: {last} / {item} / {instruction}")
    context = turn(
        turn_number=6,
        messages=[message("bob", "hm"), message("bob", "well")],
        item=WorkItem(item_id="i", text="dig"),
        instruction="be brief",
    )
    assert texts(agent.speak_now(context)) == ["Ann, turn 6, on Find a name: well / dig / be brief"]


def test_last_message_defaults_to_the_purpose(turn):
    assert texts(script("{last}").speak_now(turn())) == ["Find a name"]


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).filter(str.strip))
def test_replaced_text_is_not_replaced_again(said):
    roster = (Participant(participant_id="{turn}"),)
    context = TurnContext(
        session_id="s", mode="swarm", title="t", purpose="{me}{last}{0.__class__}" + said,
        me=roster[0], roster=roster, turn_number=1,
    )  # fmt: skip
    assert texts(script("{purpose}|{me}|{nonsense}|{}|{0}").speak_now(context)) == [
        f"{context.purpose}|{{turn}}|{{nonsense}}|{{}}|{{0}}"
    ]


def test_script_can_use_every_field_of_an_outcome(turn):
    agent = script(
        {
            "say": "so be it",
            "decision": {"next": ["bob"], "instruction": "go"},
            "hand_off": "cleo",
            "items": [{"text": "more", "role": "coder"}],
            "usage": {"input_tokens": 5},
        }
    )
    outcome = agent.speak_now(turn())
    assert texts(outcome) == ["so be it"]
    assert outcome.decision == Decision(next=("bob",), instruction="go")
    assert (outcome.hand_off, outcome.items) == ("cleo", (NewItem(text="more", role="coder"),))
    assert outcome.usage == Usage(input_tokens=5)


def test_reply_may_fail_permanently(turn):
    with pytest.raises(AgentFailed, match="out of words at 1") as error:
        script({"fail": "out of words at {turn}", "retryable": False}).speak_now(turn())
    assert not error.value.retryable


def test_reply_may_fail_only_at_the_first_attempts(turn):
    agent = script({"fail": "not yet", "fail_attempts": 2, "say": "now"})
    for attempt in (1, 2):
        with pytest.raises(AgentFailed, match="not yet"):
            agent.speak_now(turn(attempt=attempt))
    assert texts(agent.speak_now(turn(attempt=3))) == ["now"]


def test_delayed_reply_holds_no_thread(runner, turn):
    agent = script({"say": "slowly", "delay_s": 0.01})
    assert not hasattr(agent, "speak_now")
    assert texts(runner.run(agent, turn(), timeout_s=patient(5))) == ["slowly"]


@pytest.mark.parametrize("reply", [{}, {"say": ""}, {"say": " "}, {"fail": "x", "fail_attempts": 1}])
def test_a_reply_that_does_nothing_is_refused(reply):
    with pytest.raises(
        ValidationError,
        match="must set at least one of `say`, `output`, `passed`, `decision`, `hand_off`, `items` and `fail`",
    ):
        ScriptedReply.model_validate(reply)


@pytest.mark.parametrize(
    ("replies", "messages"),
    [(["one"], 0), (["{last}"], 1), (["one", "two"], SCRIPT_WINDOW), (["one", {"say": "x", "turn": 1}], 0)],
)
def test_script_gets_only_the_messages_it_needs(replies, messages):
    assert messages_needed([ScriptedReply.model_validate(reply) for reply in replies]) == messages
