"""Any stored value of one record replaced by garbage: lists, inbox, sweep and archive still have the other records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from redis import Redis

from documents.hammer import JSON, TEXTS, as_json, depths, hammer
from review_tools.batches import started
from sessions.inline_installation import InlineInstallation
from symposia.cli.sessions.rows import session_table
from symposia.client.session_rows import list_rows
from symposia.dashboard.live.loader import LoadedSession, load_sessions
from symposia.models.sessions.query import SessionQuery
from symposia.models.text.ids import new_id
from symposia.reviews.delivery.deliverer import sweep_deliveries
from symposia.reviews.state.queues import DeliveryQueue, ReviewIndex
from symposia.reviews.state.store import ReviewStore
from symposia.reviews.values.runs import DeliveryJob
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import aconnect
from symposia.state.redis.keys import (
    BEATS,
    DELIVERIES,
    INBOX,
    PREFIX,
    REVIEWS,
    SCHEDULES_LOOK,
    SESSIONS,
    WORKERS,
    notifications_key,
    session_key,
)
from symposia.state.redis.readers import server_ms
from symposia.workspace.notifications import NotificationStreams
from symposia.workspace.values.task import Notification, NotificationKind

pytestmark = pytest.mark.leaves_keys

GARBAGE = TEXTS | as_json(JSON) | st.binary(max_size=20)
#: Indexes, to which garbage is added beside the records.
INDEXES = (INBOX, SESSIONS, REVIEWS, DELIVERIES, SCHEDULES_LOOK)


def delivery(run: str) -> DeliveryJob:
    return DeliveryJob(run=run, to="chat", formats=("markdown",))


class Records:
    """A good and a bad record of each kind."""

    def __init__(self, installation: InlineInstallation) -> None:
        self.installation, self.client = installation, installation.client
        self.redis: Redis = installation.runtime.store.client
        self.url = installation.client.redis_url
        jobs = [installation.submit("round_robin", {"ann": "noop"}, people=["zoe"]) for _ in range(2)]
        installation.work()
        self.good, self.bad = (job.id for job in jobs)
        for name in ("good", "bad"):
            self.client.schedules.add(name, every="10m", job="x")
            WorkerPresence(self.redis).announce(name, ["noop"])
            self.client.memory.store("user", name, {"from": "Nairobi"}, service="travel")
        store, index = ReviewStore(self.redis, retention_s=600), ReviewIndex(self.redis)
        self.batches = [started(store, 1) for _ in range(2)]
        for batch in self.batches:
            index.add_batch(batch, server_ms(self.redis))
        DeliveryQueue(self.redis).add_deliveries([delivery(self.good), delivery(self.bad)])
        notice = Notification(kind=NotificationKind.TASK_CREATED, task_id=new_id(), at="2026-01-01T00:00:00Z")
        NotificationStreams(self.redis).publish(["zoe"], notice)

    def stored_values(self) -> list[tuple[str, str, str]]:
        """Return (key, type, field) of each stored value of the bad records, and of each index."""
        mine = (self.bad, self.batches[1], ":bad")
        keys = [it for it in self.redis.scan_iter("*") if any(name in it for name in mine)]
        found = [(key, self.redis.type(key), "") for key in (*keys, *INDEXES, notifications_key("zoe"))]
        fields = [
            (key, "field", it) for key, kind, _ in found if kind == "hash" for it in self.redis.hkeys(key)
        ]
        named = [
            (WORKERS, "field", "bad"),
            (BEATS, "field", "bad"),
            (f"{PREFIX}:taken", "field", "newest_ms"),
        ]
        return sorted([*found, *fields, *named])

    def spoil(self, value: tuple[str, str, str], garbage: Any) -> None:
        key, kind, field = value
        text = garbage if isinstance(garbage, bytes) else garbage.encode(errors="replace")
        match kind:
            case "field":
                self.redis.hset(key, field, text)
            case "hash" | "string":
                self.redis.set(key, text)  # also a key of another type
            case "zset" if key in INDEXES:
                self.redis.zadd(key, {text: 1})
            case "stream":
                self.redis.xadd(key, {"m": text})
            case "list":
                self.redis.lpush(key, text)
            case _:
                self.redis.set(key, text)

    def check(self) -> None:
        """All readers have the good records."""
        client, installation = self.client, self.installation
        WorkerPresence(self.redis).announce("good", ["noop"])
        assert self.good in [job.id for job in client.jobs()]
        assert self.good in [row.id for row in list_rows(client, SessionQuery())]
        assert self.good in [it.session_id for it in client.inbox("zoe")]
        assert self.batches[0] in [it.id for it in client.reviews().items]
        assert "good" in [it.schedule.name for it in client.schedules.entries()]
        assert "good" in client.memory.rooms("user")
        assert client.memory.get("user", "good")
        assert client.conversations.notices("zoe")
        assert "good" in [it.name for it in WorkerPresence(self.redis).list_alive()]
        for index in (installation.runtime.index, installation.runtime.ports.archiver._queue):
            self.redis.zadd(index.KEY, {self.good: 1, self.bad: 1})
        installation.sweep()
        assert self.redis.zscore(installation.runtime.index.KEY, self.good) > 1
        installation.runtime.ports.archiver.archive_due()
        assert installation.runtime.ports.archiver.target.open_reader().ids(self.good)
        sent: list[DeliveryJob] = []
        self.redis.zadd(DELIVERIES, {delivery(self.good).model_dump_json(): 1})
        sweep_deliveries(DeliveryQueue(self.redis), sent.append)
        assert delivery(self.good) in sent
        assert self.good in asyncio.run(self._pages())

    async def _pages(self) -> list[str]:
        async with aconnect(self.url) as redis:
            listed = await redis.zrange(SESSIONS, 0, -1)
            rows = load_sessions(redis, listed, now_ms=server_ms(self.redis), known={})
            return [it.row["id"] async for it in rows if isinstance(it, LoadedSession)]


@pytest.fixture
def records(tmp_path: Path, redis_url: str) -> Iterator[Records]:
    installation = InlineInstallation(tmp_path, redis_url, archive=True)
    yield Records(installation)
    installation.close()


def restorer(redis: Redis) -> Callable[[], None]:
    raw = Redis.from_url(redis.url)  # type: ignore[attr-defined]
    dumps = {key: raw.dump(key) for key in raw.scan_iter("*")}

    def restore() -> None:
        raw.flushdb()
        for key, dump in dumps.items():
            raw.restore(key, 0, dump)

    return restore


@depths
def test_one_bad_record_hides_no_other(records: Records, examples: int) -> None:
    restore = restorer(records.redis)

    def use(given: tuple[tuple[str, str, str], Any]) -> None:
        records.spoil(*given)
        try:
            records.check()
        finally:
            restore()

    records.check()
    restore()
    hammer(st.tuples(st.sampled_from(records.stored_values()), GARBAGE), use, examples=examples)


@pytest.mark.parametrize("field", ["collab", "spec", "opened_ms"])
def test_unreadable_session_is_listed_as_such(
    records: Records, caplog: pytest.LogCaptureFixture, field: str
) -> None:
    records.redis.hset(session_key(records.bad, "session"), field, "{")
    rows = {row.id: row for row in list_rows(records.client, SessionQuery())}
    assert rows[records.bad].to_json()["status"] == "unreadable"
    assert "unreadable" in map(str, session_table(list(rows.values())).columns[3].cells)
    assert list(list_rows(records.client, SessionQuery(status=("active",))))
    records.client.jobs()
    records.client.jobs()
    assert (
        len(
            [
                it
                for it in caplog.records
                if records.bad in it.getMessage() and "unreadable" in it.getMessage()
            ]
        )
        == 1
    )


def test_bad_entry_of_the_inbox_is_left_out(records: Records) -> None:
    """Such as one without a turn number, which ended the inbox of everybody."""
    records.redis.zadd(INBOX, {"no entry": 1, f"{records.bad}|x|zoe": 2})
    assert {it.session_id for it in records.client.inbox()} == {records.good, records.bad}
