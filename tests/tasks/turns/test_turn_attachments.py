"""Attachments of a session: submitted, read by agents, added by agents and from outside."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.inline_installation import InlineInstallation
from stub_agents.files import PICTURE
from symposia.models.attachments import Attachment, reading_with
from symposia.models.errors import AttachmentUnavailable, InvalidInput, SessionConflict
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.models.text.ids import new_id
from symposia.state.redis.keys import lock_key
from symposia.state.sessions.attachments import AttachmentStore
from symposia.tasks.runtime.history import TurnAttachments
from symposia.tasks.runtime.runtime import Boundary, no_fault_hook
from symposia.tasks.views.session_views import read_facts

AGENTS = "\n".join(
    f'[agents.{name}]\nkind = "python"\ncallable = "stub_agents.files:{name}"'
    for name in ("count_bytes", "count_bytes_async", "draw", "hand_on", "draw_too_much", "shrink")
)
ONCE = {"stop": MaxRounds(1)}


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[InlineInstallation]:
    """A worker without an archive, whose limit of an attachment is 20,000 bytes."""
    made = InlineInstallation(tmp_path, redis_url, AGENTS, max_attachment_bytes=20_000)
    yield made
    made.close()


def run(installation, agents, **how):
    job = installation.submit("round_robin", agents, **{**ONCE, **how})
    installation.work()
    assert job.result().ok
    return job


def texts(job):
    return [message.content for message in job.dialog().messages]


def test_agents_read_files_of_the_opening_message(installation, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    files = [path, Attachment.of("a.png", PICTURE)]
    job = run(
        installation,
        {"ann": "count_bytes", "bob": "count_bytes_async"},
        messages=["Look."],
        attachments=files,
    )
    assert texts(job) == ["Look.", "notes.txt=5, a.png=10240", "notes.txt=5, a.png=10240"]
    first, *others = job.dialog().messages
    assert [(it.name, it.media_type) for it in first.attachments] == [
        ("notes.txt", "text/plain"),
        ("a.png", "image/png"),
    ]
    assert not any(it.attachments for it in others)
    assert job.attachments() == first.attachments
    assert job.attachment_data("a.png") == PICTURE
    assert job.attachment_data(first.attachments[0].sha256[:8]) == b"hello"


def test_files_without_a_message_get_one(installation):
    job = run(installation, {"ann": "count_bytes"}, attachments=[Attachment.of("a.txt", "a")])
    assert texts(job) == ["See the attached files.", "a.txt=1"]


def test_agents_answer_with_files(installation):
    job = run(installation, {"ann": "draw", "bob": "count_bytes", "cat": "hand_on"})
    drawn, _, handed = job.dialog().messages
    assert drawn.attachments == handed.attachments
    assert drawn.attachments[0].data is None
    assert job.attachment_data("turn-1.png") == PICTURE + b"1"


def test_posted_files_reach_the_next_turn(installation):
    job = installation.submit("round_robin", {"ann": "count_bytes"}, stop=MaxRounds(2))
    installation.deliver()
    job.post("More.", attachments=[Attachment.of("late.txt", "late")])
    installation.work()
    assert "late.txt=4" in texts(job)


def test_files_over_the_limit_are_refused_before_anything_is_written(installation):
    session_id = new_id()
    collab = {
        "collab_id": session_id,
        "title": "t",
        "purpose": "p",
        "mode": "round_robin",
        "participants": [{"participant_id": "ann"}],
    }
    big = Attachment.of("big.bin", b"x" * 20_001)
    with pytest.raises(InvalidInput, match="must be at most 20000 bytes, and has 20001 bytes"):
        installation.client.submit(collab, agents={"ann": "draw"}, attachments=[big])
    assert not list(installation.runtime.store.client.scan_iter(f"*{session_id}*"))


def test_an_agent_with_a_file_over_the_limit_fails(tmp_path, redis_url):
    installation = InlineInstallation(tmp_path, redis_url, AGENTS, max_attachment_bytes=4_000)
    job = installation.submit(
        "round_robin", {"ann": "draw_too_much"}, **ONCE, policy={"attempts": 1, "then": "skip"}
    )
    installation.work()
    assert not job.attachments()
    assert "messages[0].attachments: must be at most 4000 bytes" in installation.ends[0].error
    installation.close()


def test_an_agent_cannot_change_the_size_of_a_file(installation):
    """Limits for the prompts of models rely on it."""
    job = installation.submit(
        "round_robin",
        {"ann": "shrink", "bob": "count_bytes"},
        **ONCE,
        policy={"attempts": 1, "then": "skip"},
        attachments=[Attachment.of("a.txt", "hello")],
    )
    installation.work()
    assert texts(job)[1:] == ["a.txt=5"]
    assert "attachments: a.txt must have its size of 5 bytes" in installation.ends[0].error


def test_bytes_of_another_size_are_not_loaded(installation):
    job = run(installation, {"ann": "draw"})
    made_up = job.attachments()[0].model_copy(update={"size": 7})
    facts = read_facts(job.id, installation.runtime.store.documents(job.id), 0)
    with (
        reading_with(TurnAttachments(installation.runtime.sessions.history, facts)),
        pytest.raises(AttachmentUnavailable, match="its bytes have another size than 7"),
    ):
        made_up.load()


def test_unknown_files_are_named_in_the_error(installation):
    job = run(installation, {"ann": "draw"})
    with pytest.raises(AttachmentUnavailable, match=r"attachment 'other.png' cannot be read: no message"):
        job.attachment_data("other.png")
    with pytest.raises(InvalidInput, match=r"wanted: must be an Attachment, a name .* \(got 5\)"):
        job.attachment_data(5)


def test_forks_read_files_from_before_the_fork(installation):
    first = run(installation, {"ann": "draw", "bob": "count_bytes", "cat": "hand_on"})
    fork = first.fork(at_turn=2)
    installation.work()
    assert texts(fork) == ["turn-1.png=10241", "See above."]
    assert fork.attachment_data("turn-1.png") == PICTURE + b"1"


def test_a_late_writer_leaves_no_file_in_a_message(installation):
    job = installation.submit("round_robin", {"ann": "draw"}, **ONCE)
    installation.deliver()
    (call,) = installation.queue.waiting
    store = installation.runtime.store

    def lose_lease(boundary, session_id, number):
        if boundary is Boundary.BEFORE_COMMIT:
            installation.runtime = dataclasses.replace(installation.runtime, fault_hook=no_fault_hook)
            store.client.delete(lock_key(session_id, call.scope))

    installation.runtime = dataclasses.replace(installation.runtime, fault_hook=lose_lease)
    assert installation.deliver() == "stale"
    assert not job.attachments()
    assert len(AttachmentStore(store.client).digests(job.id)) == 1
    installation.sweep_until(job, lambda: job.state().is_final)
    assert [it.name for it in job.attachments()] == ["turn-1.png"]


def test_sub_sessions_name_no_files(installation):
    panel = {
        "title": "t",
        "purpose": "p",
        "mode": "round_robin",
        "participants": [{"participant_id": "ann", "agent": "draw"}],
        "attachments": ["/etc/passwd"],
    }
    with pytest.raises(InvalidInput, match="is read from a session file that is submitted directly"):
        installation.submit("round_robin", {"ann": {"session": panel}}, **ONCE)


def test_the_same_submission_again_stores_nothing(installation):
    collab = {
        "collab_id": new_id(),
        "title": "t",
        "purpose": "p",
        "mode": "round_robin",
        "participants": [{"participant_id": "ann"}],
    }
    jobs = [
        installation.client.submit(
            collab,
            agents={"ann": "draw"},
            stop={"max_rounds": 1},
            attachments=[Attachment.of("a.txt", "a")],
        )
        for _ in range(2)
    ]
    with pytest.raises(SessionConflict):
        installation.client.submit(
            collab,
            agents={"ann": "draw"},
            stop={"max_rounds": 1},
            attachments=[Attachment.of("a.txt", "b")],
        )
    installation.work()
    assert [it.name for it in jobs[1].attachments()] == ["a.txt", "turn-1.png"]
    assert len(AttachmentStore(installation.runtime.store.client).digests(jobs[0].id)) == 2
