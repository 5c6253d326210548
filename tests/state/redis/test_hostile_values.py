"""Any value of agents, people and planners is read back unchanged and stops no script."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scaling import scaled_examples
from sessions.table import Table, turn
from symposia.models.sessions.plan import BoardEntry, Finish, PlannedTurn, Step
from symposia.models.turns.items import WorkItem
from symposia.models.turns.turn import MAX_SPENT, Usage

modest = settings(
    max_examples=scaled_examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
words = st.text(min_size=1, max_size=40)
#: Texts that mean something to somebody on the way: JSON, Lua, the lock's value, the keys, the protocol.
ODD = st.sampled_from(
    [
        "|",
        ":",
        "%d",
        "null",
        "\x00",
        "\r\n",
        "{}",
        "[]",
        "lock:floor",
        "}:lock:",
        "a|1",
        "\x7f",
        "é",
        "𝄞",
        "\\u0000",
        '"',
        "1e400",
    ]
)
texts = words | ODD


@modest
@given(said=st.lists(texts, max_size=4), error=st.text(max_size=20))
def test_messages_are_read_back_exactly(client, said, error):
    table = Table(client)
    grant = table.grant(table.plan_one())
    table.commit(grant, *said, error=error)
    assert table.texts() == said
    assert table.payloads("MAPTurnCompleted")[0]["result"].get("error", "") == error
    assert len(table.grant(table.plan_one(), window=9).messages) == len(said)


@modest
@given(said=st.lists(texts, min_size=1, max_size=4))
def test_held_messages_are_read_back_exactly(client, said):
    table = Table(client)
    grant = table.grant(table.plan_one())
    table.suspend()
    table.commit(grant, *said)
    table.resume()
    assert table.texts() == said


@modest
@given(scope=texts, instruction=texts, item=texts, remembered=st.dictionaries(texts, texts, max_size=3))
def test_plans_are_read_back_exactly(client, scope, instruction, item, remembered):
    table = Table(client)
    planned = PlannedTurn(
        participant="bob", scope=scope, instruction=instruction, item=WorkItem(item_id=item, text=instruction)
    )
    board = (BoardEntry(item=planned.item, status="open"),)
    table.plan(planned, turn("ann", scope + "x"), state=remembered, board=board)
    state = table.state()
    assert PlannedTurn.model_validate_json(state.records[1].plan) == planned
    assert json.loads(state.planner) == remembered
    assert list(table.store.board(table.id)) == [item]
    grant = table.grant(1, scope=scope)
    assert table.owner(scope) == grant.token
    assert table.sweep(grace_ms=60_000).word == "swept"
    table.plan(drop=(1,))
    assert table.owner(scope) is None
    table.cancel(reason=instruction, detail=item)
    assert (table.state().reason, table.state().detail) == (instruction, item)


@modest
@given(names=st.lists(texts.filter(str.strip), min_size=1, max_size=3, unique=True))
def test_any_participant_may_speak(client, names):
    table = Table(client, names=tuple(names))
    numbers = table.plan(*(turn(name, f"slot:{name}") for name in names), announce="")
    for number, name in zip(numbers, names, strict=True):
        table.speak(number, "hello", scope=f"slot:{name}")
    assert [payload["participant_id"] for payload in table.payloads("MAPTurnDispatched")] == names
    assert table.events("MAPBroadcastSent")[0]["target_roles"] == names


def test_invalid_unicode_becomes_a_question_mark(table):
    """File names in error messages may contain surrogates; they do not end a session."""
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    assert table.fail(table.grant(one, scope="a"), error="no file '\udcff'").word == "retried"
    assert table.speak(two, scope="b", error="no file '\udcff'").word == "committed"
    errors = [payload["result"]["error"] for payload in table.payloads("MAPTurnCompleted")]
    assert errors == ["no file '?'"] * 2
    assert (
        table.finish(
            "failed",
        ).word
        == "planned"
    )


def test_end_reason_with_invalid_unicode_is_written(table):
    grant = table.grant(table.plan_one())
    ending = table.write(Finish(reason="failed", detail="no file '\udcff'"), after=grant.number)
    answer = table.commit(grant, "hello", then=ending)
    assert (answer.word, answer.state.detail) == ("committed", "no file '?'")


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens", "requests", "cost_micros"])
def test_huge_usage_is_harmless(table, field):
    for _ in range(3):
        table.speak(table.plan_one(), "hello", usage=Usage(**{field: 2**70}))
        table.plan()
    assert table.state().usage == Usage(**{field: 3 * MAX_SPENT})
    assert table.texts() == ["hello"] * 3


def test_invalid_plan_leaves_the_turn_unwritten(table):
    grant = table.grant(table.plan_one())
    write = table.write(Step(), after=grant.number)
    broken = type(write)(write.plan_id, write.expected, write.document[:-1])
    with pytest.raises(Exception, match="script 'turns/commit' failed"):
        table.commit(grant, "hello", then=broken)
    assert (table.texts(), table.state().closed, table.owner()) == ([], 0, grant.token)
    assert table.commit(grant, "hello").word == "committed"


def test_invalid_lease_leaves_the_turn_ungranted(table):
    number = table.plan_one()
    with pytest.raises(Exception, match="script 'turns/begin' failed"):
        table.begin(number, timeout_ms=0)
    assert (table.state().fence, table.state().records[number].status) == (0, "planned")
    assert table.grant(number).fence == 1


def test_megabyte_message_is_accepted(table):
    table.speak(table.plan_one(), "x" * 1_048_576)
    assert len(table.grant(table.plan_one()).messages[0][1]) > 1_048_576


def test_hundreds_of_turns_are_dropped_at_once(table):
    numbers = table.plan(*(turn("ann", f"slot:{i}") for i in range(500)))
    for number in numbers[::50]:
        table.grant(number, scope=f"slot:{number - 1}")
    table.plan(drop=numbers[:250])
    assert len(table.state().open_turns()) == 250
    table.cancel()
    assert table.outcomes().count("dropped") == table.outcomes().count("cancelled") == 5
