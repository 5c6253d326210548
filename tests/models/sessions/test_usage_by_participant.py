"""Usage of each participant."""

from __future__ import annotations

from symposia.models.protocol.events import MapEvent, MAPEventType
from symposia.models.sessions.limits import usage_by_participant
from symposia.models.text.ids import new_id, role_uuid
from symposia.models.turns.turn import Usage
from symposia.models.turns.usage_table import UsageTable


def event(name, result, kind=MAPEventType.TURN_COMPLETED):
    payload = {
        "role_id": role_uuid(name),
        "turn_number": 1,
        "token_id": new_id(),
        "participant_id": name,
        "result": result,
    }
    if kind is MAPEventType.TURN_DISPATCHED:
        del payload["result"]
    return MapEvent(event_type=kind, session_id=new_id(), payload=payload)


def test_participant_usage_is_the_sum_of_its_turns():
    usage = {"input_tokens": 10, "output_tokens": 2, "cached_tokens": 4, "requests": 1, "cost_micros": 7}
    spent = usage_by_participant(
        [
            event("bob", None, MAPEventType.TURN_DISPATCHED),
            event("bob", {"outcome": "message", "usage": usage}),
            event("ann", {"outcome": "expired"}),
            event("bob", {"outcome": "message", "usage": usage}),
        ]
    )
    twice = Usage(input_tokens=20, output_tokens=4, cached_tokens=8, requests=2, cost_micros=14)
    assert spent == {"bob": twice, "ann": Usage()}


def test_share_of_cached_input():
    assert Usage().cached_share == 0.0
    usage = Usage(input_tokens=10, cached_tokens=4)
    assert usage.cached_share == 0.4
    assert "<td>40%</td>" in UsageTable({"ada": usage})._repr_html_()
