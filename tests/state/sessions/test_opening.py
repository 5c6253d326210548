"""`open`: a session is made once."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from sessions.table import Table, until
from symposia.models.errors import SessionConflict, SessionNotFound
from symposia.models.protocol.collab import CollabStatus
from symposia.models.protocol.dialog import DialogStatus, Message, Role
from symposia.models.text.ids import role_uuid
from symposia.tasks.planning.moment import Moment

MESSAGE = Message(role=Role.USER, content="one").to_json()


def test_opened_session_is_active_with_nothing_planned(table):
    state = table.state()
    assert (state.status, state.dialog_status) == (CollabStatus.ACTIVE, DialogStatus.ACTIVE)
    assert (state.version, state.closed, state.next_number, state.fence, state.messages) == (0, 0, 1, 0, 0)
    assert (state.rounds, state.ends_round, state.planner, state.stop) == (0, False, "{}", "{}")
    assert (state.ended_ms, state.deadline_ms, state.reason, state.detail) == (None, None, None, None)
    assert (state.records, state.planned_by, state.stop_requested) == ({}, None, False)
    assert state.opened_ms == state.updated_ms <= state.now_ms


def test_opening_notifies_watchers(table):
    started, assigned = table.events()
    assert started["payload"] == {"mode": "round_robin", "title": "A table", "participant_count": 3}
    assert started["session_id"] == assigned["session_id"] == table.id
    assert assigned["target_roles"] == ["ann", "bob", "cyd"]
    assert [a["role_uuid"] for a in assigned["payload"]["assignments"]] == list(
        map(role_uuid, ("ann", "bob", "cyd"))
    )
    assert [event["event_type"] for event in table.journal()] == ["session.created", "session.active"]


def test_absent_fields_are_not_stored(table):
    fields = {"archive", "deadline_ms", "parent", "posts"}
    assert fields.isdisjoint(table.client.hkeys(table.key("session")))


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({}, {}),
        ({"parent": "the-parent"}, {"parent": "the-parent"}),
        pytest.param({"archived": True}, {"archive": "owed"}, marks=pytest.mark.leaves_keys),
        ({"messages": (MESSAGE,)}, {"posts": json.dumps([MESSAGE], separators=(",", ":"))}),
    ],
    ids=["none", "parent", "archive", "messages"],
)
def test_draft_stores_what_it_is_opened_with(client, changes, fields):
    table = Table(client, opened=False)
    table.open(draft=True, **changes)
    stored = client.hgetall(table.key("session"))
    assert {name: stored[name] for name in ("parent", "archive", "posts") if name in stored} == fields
    table.cancel()


def test_opening_twice_changes_nothing(table):
    before = table.client.hgetall(table.key("session"))
    again = table.open()
    assert again.word == "exists"
    assert again.state.version == 0
    assert table.client.hgetall(table.key("session")) == before
    assert len(table.events()) == len(table.journal()) == 2


def test_opening_a_running_session_again_is_harmless(table):
    table.speak(table.plan_one(), "hello")
    assert table.open().state.closed == 1
    assert table.texts() == ["hello"]


def test_the_same_id_with_other_content_is_a_conflict(table):
    with pytest.raises(SessionConflict, match=table.id):
        table.open(digest="another")
    assert len(table.events()) == 2


def test_one_of_many_concurrent_opens_wins(client):
    table = Table(client, opened=False)
    with ThreadPoolExecutor(8) as pool:
        words = list(pool.map(lambda _: table.open().word, range(32)))
    assert sorted(words) == ["exists"] * 31 + ["opened"]
    assert len(table.events()) == 2


def test_a_dialog_may_start_with_messages(client):
    table = Table(client, opened=False)
    messages = tuple(Message(role=Role.USER, content=text).to_json() for text in ("one", "two"))
    assert table.open(messages=messages).state.messages == 2
    assert table.texts() == ["one", "two"]


def test_a_deadline_is_kept_by_the_servers_clock(client):
    table = Table(client, opened=False)
    state = table.open(deadline_s=12.5).state
    assert state.deadline_ms == state.opened_ms + 12_500


def test_submission_is_read_back_unchanged(table):
    documents = table.store.documents(table.id)
    collab, spec = documents.collab, documents.spec
    assert json.loads(collab) == table.collab.to_wire()
    assert spec == "{}"


def test_unopened_session_is_not_found(client):
    table = Table(client, opened=False)
    for read in (
        table.store.state,
        table.store.documents,
        table.store.board,
        table.store.suspend,
        table.store.resume,
        table.store.request_stop,
    ):
        with pytest.raises(SessionNotFound, match=table.id):
            read(table.id)
    with pytest.raises(SessionNotFound):
        table.cancel()
    assert table.sweep().word == "missing"
    assert table.begin(1).word == "missing"


def test_expired_session_id_may_be_used_again(client):
    table = Table(client)
    first = table.events()
    table.finish(retention_ms=1)
    until(lambda: not client.exists(table.key("session")))
    assert table.open(digest="another").word == "opened"
    assert {e["event_id"] for e in first}.isdisjoint(e["event_id"] for e in table.events())


def test_fork_is_opened_once_with_its_start(client):
    table = Table(client, opened=False)
    moment = Moment(state={"cursor": 1}, next_number=4, closed=3, rounds=1, board={"i1": "{}"})
    opening = table.opening(start=moment.to_start())
    assert [table.store.open(opening).word for _ in range(2)] == ["opened", "exists"]
    state = table.store.state(table.id)
    assert (state.next_number, state.closed, state.rounds, state.planner) == (4, 3, 1, '{"cursor":1}')
    assert table.store.board(table.id) == {"i1": "{}"}
    assert Moment.from_start(table.store.start(table.id) or "") == moment
