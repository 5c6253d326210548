"""Every event the scripts write is what the protocol's schemas ask for."""

import pytest

from checks.ledger import PAYLOADS
from sessions.table import Table, turn
from symposia.models.protocol.base import Event
from symposia.models.protocol.events import MapEvent, MAPEventType
from symposia.models.turns.turn import OutcomeKind, Usage


@pytest.fixture
def eventful(client):
    """A session with every kind of event."""
    table = Table(client, names=("ann", "bob", "cyd"))
    step = {"announce": "Ideas?", "ends_round": True}
    one, two, three = table.plan(
        *(turn(n, f"slot:{n}", broadcast=True) for n in ("ann", "bob", "cyd")), **step
    )
    lost = table.grant(one, scope="slot:ann", parent_id="planner")
    table.expire("slot:ann")
    table.commit(lost, "stale")
    table.speak(one, "hello", scope="slot:ann", usage=Usage(input_tokens=3, cost_micros=5))
    table.fail(table.grant(two, scope="slot:bob"), error="no answer", agent="stand-in")
    table.speak(two, scope="slot:bob", error="gave up", kind=OutcomeKind.FAILED)
    dropped = table.grant(three, scope="slot:cyd")
    table.plan(drop=(three,))
    table.commit(dropped, "too late")
    table.suspend()
    table.resume()
    table.store.request_stop(table.id)
    number = table.plan_one()
    late = table.grant(number)
    table.expire()
    table.suspend()
    table.resume()
    table.commit(table.grant(number), "hello")
    table.finish("stopped", retention_ms=60_000)
    table.commit(late, "after the end")
    return table


def test_all_kinds_of_events_are_written(eventful):
    assert set(eventful.kinds()) == set(MAPEventType)
    assert {event["event_type"] for event in eventful.journal()} == {
        "session.created",
        "session.active",
        "session.suspended",
        "session.stop.requested",
        "session.completed",
        "turn.dropped",
        "turn.refused",
    }


def test_every_map_event_is_valid(eventful, mplp):
    for event in eventful.events():
        mplp.validate("map-event", event)


@pytest.mark.parametrize("kind", PAYLOADS)
def test_every_payload_is_valid_by_its_type(eventful, mplp, kind):
    payloads = eventful.payloads(kind)
    assert payloads
    for payload in payloads:
        mplp.validate("map-event", payload, pointer=PAYLOADS[kind])


def test_every_event_of_the_journal_is_valid(eventful, mplp):
    for event in eventful.journal():
        mplp.validate("event", event)


def test_the_journal_is_valid_inside_the_collab(eventful, mplp):
    collab = eventful.collab.changed(
        status="completed", events=[Event(**event) for event in eventful.journal()]
    )
    mplp.validate("collab", collab.to_wire())


def test_the_models_read_every_event_as_it_was_written(eventful):
    assert [MapEvent(**event).to_wire() for event in eventful.events()] == eventful.events()
    assert [Event(**event).to_wire() for event in eventful.journal()] == eventful.journal()


def test_identifiers_and_times_have_one_form(eventful):
    events = [*eventful.events(), *eventful.journal()]
    assert len({event["event_id"] for event in events}) == len(events)
    for stream in (eventful.events(), eventful.journal()):
        stamps = [event["timestamp"] for event in stream]
        assert stamps == sorted(stamps)
        assert all(stamp.endswith("Z") and len(stamp) == 24 for stamp in stamps)
