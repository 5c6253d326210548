"""Work of incoming hooks: an event counts once, and the queue is bounded."""

from __future__ import annotations

import pytest
from redis import Redis

from symposia.state.hooks import HookQueue, HookWork

HOLD_MS = 60_000
REVIEW = HookWork("review", "shop")
COMMENT = HookWork("comment", "shop", "digest")


@pytest.fixture
def queue(client: Redis) -> HookQueue:
    return HookQueue(client)


def claim(queue: HookQueue) -> list[str]:
    return queue.claim(limit=10, hold_ms=HOLD_MS)


def test_event_with_a_known_id_or_body_changes_nothing(queue: HookQueue) -> None:
    assert queue.receive(REVIEW, "", seen=["id", "body"]) == "queued"
    assert claim(queue) == [REVIEW.member]
    for seen in (["id", "other"], ["other", "body"]):
        assert queue.receive(COMMENT, "{}", seen=seen) == "repeated"
    assert (claim(queue), queue.data(COMMENT)) == ([], None)


def test_event_during_the_work_makes_it_due_again(queue: HookQueue) -> None:
    queue.receive(REVIEW, "", seen=["1"])
    claim(queue)
    claimed = queue.time_of(REVIEW.member)
    assert claimed is not None
    assert queue.receive(REVIEW, "", seen=["2"]) == "queued"
    queue.finish(REVIEW, claimed)
    assert claim(queue) == [REVIEW.member]


def test_refused_event_may_be_sent_again(queue: HookQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symposia.state.hooks.MAX_QUEUED", 1)
    assert queue.receive(REVIEW, "", seen=["1"]) == "queued"
    assert queue.receive(COMMENT, "{}", seen=["2"]) == "full"
    assert queue.receive(REVIEW, "", seen=["3"]) == "queued"  # it has its place
    claim(queue)
    queue.finish(REVIEW, queue.time_of(REVIEW.member) or 0)
    assert queue.receive(COMMENT, "{}", seen=["2"]) == "queued"


def test_only_a_comment_has_data(queue: HookQueue) -> None:
    queue.receive(REVIEW, "", seen=["1"])
    queue.receive(COMMENT, '{"a": 1}', seen=["2"])
    assert (queue.data(REVIEW), queue.data(COMMENT)) == (None, '{"a": 1}')
    queue.finish(COMMENT, queue.time_of(COMMENT.member) or 0)
    assert (claim(queue), queue.data(COMMENT)) == ([REVIEW.member], None)
