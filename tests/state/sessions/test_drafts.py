"""A draft has no turns and no events until it is activated; it can be cancelled."""

from __future__ import annotations

import pytest

from sessions.table import Table
from symposia.models.errors import IllegalTransition
from symposia.models.sessions.plan import Step
from symposia.state.redis.keys import session_key


@pytest.fixture
def draft(client):
    table = Table(client, opened=False)
    assert table.open(draft=True, deadline_s=60).word == "opened"
    return table


def journal(table: Table) -> list[str]:
    return [event["event_type"] for event in table.journal()]


def test_draft_starts_once(draft, client):
    state = draft.state()
    assert (state.status, state.deadline_ms, draft.events()) == ("draft", None, [])
    assert draft.store.plan(draft.id, draft.write(Step())).word == "inactive"

    state = draft.store.activate(draft.id, by="lena", request="r")
    assert state.status == "active"
    assert state.deadline_ms == state.started_ms + 60_000
    assert state.started_ms == state.updated_ms
    assert [it["event_type"] for it in draft.events()] == ["MAPSessionStarted", "MAPRolesAssigned"]
    assert journal(draft) == ["session.created", "session.active"]
    assert draft.journal()[-1]["data"]["by"] == "lena"

    assert draft.store.activate(draft.id, by="lena", request="r").version == state.version
    with pytest.raises(IllegalTransition, match="session is already active"):
        draft.store.activate(draft.id)
    assert journal(draft) == ["session.created", "session.active"]
    fields = client.hgetall(session_key(draft.id, "session"))
    assert not [it for it in fields if it.startswith("draft_")]


def test_draft_is_cancelled_without_a_start(draft):
    state = draft.cancel()
    assert (state.status, state.dialog_status) == ("cancelled", "cancelled")
    assert journal(draft) == ["session.created", "session.cancelled"]
    assert [it["event_type"] for it in draft.events()] == ["MAPSessionCompleted"]
    with pytest.raises(IllegalTransition, match="already ended"):
        draft.store.activate(draft.id)


def test_draft_cannot_be_stopped_or_suspended(draft):
    for move in (draft.suspend, draft.resume, lambda: draft.store.request_stop(draft.id)):
        with pytest.raises(
            IllegalTransition, match=r"session is a draft and cannot be .*: activate or cancel it"
        ):
            move()
    assert journal(draft) == ["session.created"]


def test_sweep_leaves_a_draft(draft):
    answer = draft.store.sweep(draft.id, grace_ms=1)
    assert (answer.word, answer.numbers, answer.advance) == ("swept", (), False)


def test_repeated_opening_changes_nothing(draft):
    assert draft.open(draft=True, deadline_s=60).word == "exists"
    assert draft.open(deadline_s=60).word == "exists"
    assert draft.state().status == "draft"
