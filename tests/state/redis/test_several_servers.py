"""Clients of a cluster and of Sentinels: the same results, and clear errors."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from redis import Redis

from servers.ports import own_port
from sessions.table import Table
from symposia.memory.rooms import DialogMemory
from symposia.models.errors import RedisUnavailable, ScriptError, UnsuitableRedis
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.limits import DailyLimits, Rate, SpendingBounds
from symposia.models.text.ids import new_id, utcnow
from symposia.models.turns.turn import Usage
from symposia.reviews.state.queues import DeliveryQueue
from symposia.reviews.values.runs import DeliveryJob
from symposia.schedules.recurrence import Recurrence
from symposia.schedules.schedule import Schedule
from symposia.schedules.store import ScheduleStore
from symposia.state.following import afollow
from symposia.state.presence import BeatPresence
from symposia.state.redis.cluster import info_by_server
from symposia.state.redis.connect import aconnect, check_reachable, connect
from symposia.state.redis.keys import ARCHIVE_QUEUE, DUE, LIVE, PREFIX, session_key
from symposia.state.sessions.index import SessionIndex
from symposia.state.sessions.opened import open_sessions
from symposia.state.sessions.requests import Opening
from symposia.state.sessions.store import SessionStore
from symposia.state.streams.hub import StreamHubs
from symposia.state.turns.parked import Inbox, InboxEntry
from symposia.state.usage_limits import Permit, RateLimiter, Settlement, TenantAccounts, TenantUsage
from symposia.workspace.notifications import NotificationStreams
from symposia.workspace.values.task import Notification, NotificationKind

pytestmark = pytest.mark.long


@pytest.fixture(params=["cluster", "sentinels"])
def url(request: pytest.FixtureRequest) -> str:
    address: str = request.getfixturevalue(request.param).url
    return address


@pytest.fixture
def there(url: str) -> Iterator[Redis]:
    with connect(url) as client:
        client.flushall()
        yield client


def test_many_sessions_are_opened_on_every_server(there):
    store, index, ids = SessionStore(there), SessionIndex(there), [new_id() for _ in range(6)]
    participants = [Participant(participant_id="ann"), Participant(participant_id="bob")]
    openings = [
        Opening(
            collab=Collab(
                collab_id=it, title="t", purpose="p", mode="pair", participants=participants
            ).activated(),
            spec="{}",
            digest=it,
        )
        for it in ids
    ]
    assert store.digests(ids) == [None] * 6
    timed = [(opening, 60_000) for opening in openings]
    assert [it.word for it in open_sessions(there, timed, archive_in_ms=0)] == ["opened"] * 6
    assert [it.word for it in open_sessions(there, timed, archive_in_ms=0)] == ["exists"] * 6
    assert store.digests(ids) == ids
    assert (index.unfinished(), there.zcard(LIVE), there.zcard(ARCHIVE_QUEUE)) == (6, 6, 6)


def test_error_of_an_index_leaves_no_session(there):
    there.set(DUE, "not an index")
    opening = Opening(Table(there, opened=False).collab, spec="{}", digest="d")
    with pytest.raises(ScriptError):
        open_sessions(there, [(opening, 60_000)], archive_in_ms=None)
    assert not there.exists(session_key(opening.collab.collab_id, "session"))
    there.delete(DUE)


def test_other_stores_work_on_every_server(there):
    inbox = Inbox(there)
    inbox.add([letter := InboxEntry("s", 1, "ann")], at_ms=1_000)
    assert [found for found, _ in inbox.list_entries("ann")] == [letter]

    tenants = TenantAccounts(there)
    limits = DailyLimits(tokens=100)
    assert (
        tenants.reserve("acme", "r", SpendingBounds(tokens=60), limits=limits, expires_in_ms=60_000)
        == "reserved"
    )
    assert (
        tenants.reserve("acme", "q", SpendingBounds(tokens=60), limits=limits, expires_in_ms=60_000)
        == "short"
    )
    tenants.book_usage("acme", "r", Settlement("1", Usage(output_tokens=7), turns=1))
    assert tenants.read_usage_today("acme") == TenantUsage(tokens=7, turns=1)

    rates = RateLimiter(there)
    answers = [rates.admit(Rate(model=name, requests=1)) for name in ("a", "b", "c", "a")]
    assert [isinstance(it, Permit) for it in answers] == [True, True, True, False]

    board = NotificationStreams(there)
    notice = Notification(kind=NotificationKind.CONVERSATION_CREATED, task_id=new_id(), at=utcnow())
    board.publish(["ann", "bob", "cyd"], notice)
    assert [len(board.read(name)) for name in ("ann", "bob", "cyd")] == [1, 1, 1]

    errands = DeliveryQueue(there)
    errands.add_deliveries([errand := DeliveryJob(run=new_id(), to="team", formats=("markdown",))])
    errands.retry_later(errand, delay_ms=1)
    assert errands.waiting() == 1

    beats, schedules = BeatPresence(there), ScheduleStore(there)
    beats.announce("beat")
    assert beats.list_alive() == ["beat"]
    assert schedules.put(Schedule(name="often", when=Recurrence(every=86_400), job="say")) == "added"
    assert (schedules.names(), schedules.get("often").queued) == (["often"], 0)

    assert {key.partition(":")[0] for key in there.scan_iter("*")} == {PREFIX}


def test_memory_of_many_rooms_is_found_and_forgotten(there):
    memory = DialogMemory(there)
    for room in "abcdef":
        assert memory.store(1, room, {"to": "Paris"}, service="travel")
        assert memory.store(1, room, {"from": "Rome"}, service="travel")
    assert memory.rooms(1) == list("abcdef")
    assert memory.get(1, "c")["parameters"] == {"from": "Rome", "to": "Paris"}
    assert memory.forget_all(1) == list("abcdef")
    assert not memory.get(1, "c").get("parameters")


def test_asyncio_follows_a_session(there, url):
    table = Table(there)
    table.speak(table.plan_one(), "hello")
    table.finish()

    async def followed() -> int:
        async with StreamHubs().reader(url) as reader:
            return len([entry async for entry in afollow(reader, table.id, "dialog")])

    assert asyncio.run(followed()) == 1


def test_keys_are_on_every_master_of_a_cluster(cluster):
    with connect(cluster.url) as client:
        client.flushall()
        for _ in range(60):
            Table(client)
        counts = [node.client.dbsize() for node in cluster.masters]
        assert all(counts), f"keys of 60 sessions on three masters: {counts}"
        assert info_by_server(client, "persistence").keys() == {node.address for node in cluster.masters}
        client.flushall()


@pytest.mark.parametrize("form", ["redis+cluster://:hunter22@{}", "redis+sentinel://:hunter22@{}/main/0"])
def test_nothing_is_sent_before_the_first_command(form):
    nobody = form.format(f"127.0.0.1:{own_port()}")
    with connect(nobody, retries=0) as client, pytest.raises(RedisUnavailable) as caught:
        client.ping()
    assert "hunter22" not in str(caught.value)

    async def ask() -> None:
        client = aconnect(nobody)
        try:
            await client.exists("a")
        finally:
            await client.aclose()

    with pytest.raises(RedisUnavailable):
        asyncio.run(ask())


def test_wrong_kind_of_server_is_refused_with_the_url(cluster, sentinels):
    node, sentinel = cluster.masters[0].address, sentinels.sentinels[0].address
    master = sentinels.master.address
    wrong = {
        f"redis://{node}/0": f"is a node of a Redis Cluster: use redis+cluster://{node} and set SYMPOSIA_BROKER_URL",
        f"redis://:hunter33@{sentinel}/0": f"is a Sentinel: use redis+sentinel://{sentinel}/MASTER-NAME/0",
        f"redis+cluster://:hunter22@{master}": f"is a single server, not a Redis Cluster: use redis://{master}/0",
        f"redis+sentinel://{node}/main": f"is a single server, not a Sentinel: use redis://{node}/0",
    }
    for url, told in wrong.items():
        with connect(url, retries=0) as client, pytest.raises(UnsuitableRedis) as caught:
            check_reachable(client, url)
        assert told in str(caught.value)
        assert "hunter" not in str(caught.value)


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("hunter22", "nonsense", "invalid username-password pair"),
        (
            "hunter33",
            "nonsense",
            "no Sentinel knows an available master 'mymaster': a Sentinel rejected the credentials",
        ),
        ("/mymaster/", "/other/", "no Sentinel knows an available master 'other'"),
    ],
)
def test_sentinel_errors_name_the_cause(sentinels, right, wrong, told):
    url = sentinels.url.replace(right, wrong)
    with connect(url, retries=0) as client, pytest.raises(RedisUnavailable, match=told) as caught:
        check_reachable(client, url)
    assert not {"hunter", "nonsense"} & set(str(caught.value).replace(":", " ").split())
