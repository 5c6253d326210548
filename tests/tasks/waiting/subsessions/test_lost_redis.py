"""Sub-sessions that only the archive has: after their keys have expired, or after Redis has lost everything."""

from __future__ import annotations

import json

import pytest

from symposia.models.sessions.stop_conditions import MaxRounds

pytestmark = pytest.mark.leaves_keys


@pytest.fixture
def installation(make_installation):
    """An installation with a panel and an archive."""
    return make_installation(archive=True, archive_interval_s=0.1)


def archive_all(installation, *jobs):
    for job in jobs:
        installation.runtime.index.archive_soon(job.id)
    installation.runtime.ports.archiver.archive_due()


@pytest.fixture
def parked(installation):
    """A session, and its sub-session."""
    job = installation.submit("round_robin", {"panel": "panel"}, stop=MaxRounds(1), messages=["a draft"])
    installation.deliver()
    installation.deliver()
    (child,) = job.children()
    return job, child


def test_result_of_an_expired_child_comes_from_the_archive(installation, parked, monkeypatch):
    job, child = parked
    with monkeypatch.context() as patched:  # its answer never arrives
        patched.setattr("symposia.tasks.waiting.subsessions.answers.answer_parent", lambda *_: False)
        installation.work()
    archive_all(installation, child)
    client = installation.runtime.store.client
    for key in client.scan_iter(f"symposia:{{{child.id}}}:*"):
        client.delete(key)
    client.hset(f"symposia:{{{job.id}}}:turns", "1", _due(client, job))
    installation.sweep_until(job, lambda: job.state().is_final)
    assert [it.content for it in job.messages()] == ["a draft", "heard too long"]
    assert job.state().usage.tokens == 350


def test_lost_child_fails_its_turn_in_the_end(installation, parked):
    job, child = parked
    client = installation.runtime.store.client
    installation.queue.waiting.clear()
    for key in client.scan_iter(f"symposia:{{{child.id}}}:*"):
        client.delete(key)

    def ended():
        if not job.state().is_final:
            client.hset(f"symposia:{{{job.id}}}:turns", "1", _due(client, job))
        installation.runtime.index.set_due_by(job.id, 0)
        installation.sweep()
        return job.state().is_final

    installation.sweep_until(job, ended)
    assert "not found (lost or expired)" in job.state().detail


def _due(client, job):
    """The record of the first turn, whose next check is due."""
    record = json.loads(client.hget(f"symposia:{{{job.id}}}:turns", "1"))
    return json.dumps({**record, "wake_ms": 0})


def test_restored_session_brings_its_sub_sessions_back(installation, parked):
    job, child = parked
    archive_all(installation, job, child)
    client = installation.runtime.store.client
    installation.queue.waiting.clear()
    client.flushdb()
    installation.client.restore(job.id)
    assert [it.session_id for it in job.descendants()] == [child.id]
    installation.work()
    installation.sweep_until(job, lambda: job.state().is_final)
    assert [it.content for it in job.messages()] == ["a draft", "heard too long"]


def test_tree_of_an_archived_session_is_shown(installation, parked):
    job, child = parked
    installation.work()
    archive_all(installation, job, child)
    installation.runtime.store.client.flushdb()
    kept = installation.client.get_job(job.id)
    assert not kept.is_live
    assert [it.id for it in kept.children()] == [child.id]
    assert kept.children()[0].parent.session_id == job.id
    assert "session " + child.id[:8] + " completed" in kept.graph("text")
