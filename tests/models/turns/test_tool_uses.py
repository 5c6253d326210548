"""Tool uses of a turn: stored with its message, bounded, and seen by their own agent only."""

from __future__ import annotations

import pytest

from symposia.models.protocol.dialog import Message, Role, build_turn_message
from symposia.models.text.ids import utcnow
from symposia.models.turns.message_lists import estimate_tokens
from symposia.models.turns.tool_uses import (
    MAX_TURN_TOKENS,
    ToolUse,
    bounded_uses,
    own_tool_uses,
    shorten_result,
    tool_uses_of,
    with_tool_uses,
)
from symposia.models.turns.turn import TurnOutcome

USE = ToolUse(call_id="c1", name="search", arguments={"q": "lamps"}, result="three lamps", step=2)


def message(speaker="ada"):
    return build_turn_message(
        Role.AGENT,
        "I found lamps.",
        timestamp=utcnow(),
        participant_id=speaker,
        turn_number=1,
        token_id="t",
        fence=1,
        trace_id="3f0c8f55-6f0c-4a58-9c2f-0a4d8b0f6a01",
    )


def test_tool_uses_are_read_from_the_stored_message():
    stored = Message.model_validate_json(with_tool_uses(message(), [USE]).to_json())
    assert tool_uses_of(stored) == (USE,)
    assert tool_uses_of(message()) == ()


def test_other_agents_do_not_get_them():
    messages = [with_tool_uses(message(name), [USE]) for name in ("ada", "ben")]
    assert [tool_uses_of(each) for each in own_tool_uses(messages, "ben")] == [(), (USE,)]


def test_data_of_a_later_release_is_skipped():
    assert tool_uses_of(message().with_tool_uses_data([{"call_id": "c", "name": "x", "new": 1}])) == ()


def test_outcome_without_tools_has_no_such_field():
    assert "tool_uses" not in TurnOutcome.say("x").model_dump()
    assert "tool_uses" in TurnOutcome(tool_uses=(USE,)).model_dump()


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("a" * 40, "a" * 40),
        ("a" * 20 + "b" * 44, "a" * 20 + "\n[6 tokens left out]\n" + "b" * 20),
    ],
)
def test_long_result_keeps_head_and_tail(text, short):
    assert shorten_result(text, 10) == short


def test_results_of_a_turn_are_bounded_the_newest_first():
    uses = [USE.model_copy(update={"call_id": f"c{number}", "result": "x" * 40_000}) for number in range(60)]
    kept = bounded_uses(uses)
    assert [use.call_id for use in kept] == [f"c{number}" for number in range(10, 60)]
    sizes = [estimate_tokens(use.result) for use in kept]
    assert (sizes[-1] > 1_900, sizes[0] < 200, sum(sizes) < MAX_TURN_TOKENS + 50 * 110) == (True, True, True)


def test_long_arguments_are_shortened():
    [use] = bounded_uses([USE.model_copy(update={"arguments": {"text": "y" * 5_000, "n": 1}})])
    assert use.arguments["n"] == 1
    assert len(str(use.arguments["text"])) < 1_100
    [use] = bounded_uses([USE.model_copy(update={"arguments": {f"a{n}": "y" * 900 for n in range(50)}})])
    assert list(use.arguments) == ["left_out"]
