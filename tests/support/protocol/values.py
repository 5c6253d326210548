"""Hypothesis strategies for the protocol's objects: anything the models let through."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

from symposia.models.protocol.base import CrossCutting, Event, Governance, Meta, Module, Ref, Trace
from symposia.models.protocol.collab import Collab, CollabMode, CollabStatus, Participant, ParticipantKind
from symposia.models.protocol.dialog import Dialog, DialogStatus, Message, Role, build_turn_message
from symposia.models.protocol.events import MapEvent, MAPEventType

texts = st.text(max_size=30)
words = texts.filter(str.strip)
ids = st.uuids(version=4).map(str)
zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
_FIRST, _LAST = datetime(1, 1, 3), datetime(9999, 12, 29)  # noqa: DTZ001 - hypothesis adds the zone
moments = st.datetimes(_FIRST, _LAST, timezones=zones | st.just(UTC))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)


def maybe(strategy):
    return st.none() | strategy


versions = st.tuples(*[st.integers(0, 99)] * 3).map(lambda parts: ".".join(map(str, parts)))
metas = st.builds(
    Meta,
    protocol_version=versions,
    schema_version=versions,
    created_at=maybe(moments),
    created_by=maybe(texts),
    updated_at=maybe(moments),
    updated_by=maybe(texts),
    tags=maybe(st.lists(texts, unique=True, max_size=3)),
    cross_cutting=maybe(st.lists(st.sampled_from(CrossCutting), unique=True, max_size=3)),
)
governances = st.builds(
    Governance,
    lifecycle_phase=maybe(texts),
    truth_domain=maybe(texts),
    locked=maybe(st.booleans()),
    last_confirm_ref=maybe(st.builds(Ref, id=ids, module=st.sampled_from(Module), description=maybe(texts))),
)
traces = st.builds(
    Trace,
    trace_id=ids,
    span_id=ids,
    parent_span_id=maybe(ids),
    context_id=maybe(ids),
    attributes=maybe(json_objects),
)
events = st.builds(
    Event,
    event_id=ids,
    event_type=st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z][a-z0-9]{0,8}){0,2}", fullmatch=True),
    source=texts,
    timestamp=moments,
    trace_id=maybe(ids),
    data=maybe(json_objects),
)
participants = st.builds(
    Participant,
    participant_id=words,
    role_id=maybe(words),
    kind=st.sampled_from(ParticipantKind),
    display_name=maybe(texts),
)
collabs = st.builds(
    Collab,
    meta=metas,
    governance=maybe(governances),
    collab_id=ids,
    context_id=ids,
    title=words,
    purpose=words,
    mode=st.sampled_from(CollabMode),
    status=st.sampled_from(CollabStatus),
    participants=st.lists(participants, min_size=1, max_size=4),
    created_at=moments,
    updated_at=maybe(moments),
    trace=maybe(traces),
    events=maybe(st.lists(events, max_size=2)),
)
messages = st.builds(
    Message, role=st.sampled_from(Role), content=texts, timestamp=moments, event=maybe(events)
) | st.builds(
    build_turn_message,
    role=st.sampled_from(Role),
    content=texts,
    timestamp=moments,
    participant_id=words,
    turn_number=st.integers(1, 9999),
    token_id=ids,
    fence=st.integers(1, 9999),
    trace_id=maybe(ids),
)
dialogs = st.builds(
    Dialog,
    meta=metas,
    governance=maybe(governances),
    dialog_id=ids,
    context_id=ids,
    thread_id=maybe(ids),
    status=st.sampled_from(DialogStatus),
    messages=st.lists(messages, max_size=4),
    started_at=maybe(moments),
    ended_at=maybe(moments),
    trace=maybe(traces),
    events=maybe(st.lists(events, max_size=2)),
)
turns = st.fixed_dictionaries(
    {"role_id": ids, "turn_number": st.integers(1, 9999)}, optional={"token_id": ids, "participant_id": words}
)
payloads = {
    MAPEventType.TURN_DISPATCHED: turns,
    MAPEventType.TURN_COMPLETED: turns,
    MAPEventType.BROADCAST_SENT: st.fixed_dictionaries(
        {"broadcaster_role_id": texts, "target_count": st.integers(0, 99)}, optional={"message": json_objects}
    ),
    MAPEventType.BROADCAST_RECEIVED: st.fixed_dictionaries(
        {"receiver_role_id": texts}, optional={"response": json_objects}
    ),
}
map_events = st.sampled_from(MAPEventType).flatmap(
    lambda kind: st.builds(
        MapEvent,
        event_id=ids,
        event_type=st.just(kind),
        timestamp=moments,
        session_id=ids,
        initiator_role=maybe(texts),
        target_roles=maybe(st.lists(texts, max_size=3)),
        payload=maybe(payloads.get(kind, json_objects)),
    )
)
