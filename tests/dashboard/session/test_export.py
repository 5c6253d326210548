"""Exports and downloads: whole, in bounded memory, in the speed of their readers."""

from __future__ import annotations

import json
import socket
from contextlib import closing

import psutil
import pytest

from live import result_of, until
from scaling import patient
from servers.dashboard import CREDENTIALS
from servers.flower import basic
from symposia.dashboard.handlers.downloads import CHUNK_BYTES, MAX_DOWNLOADS
from symposia.dashboard.views.session.export import stream_json
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import ARCHIVE_QUEUE, session_key
from symposia.tasks.runtime.archiving import HOLD_MS

#: Messages of a long session, about 1 kB each: 100 pages of reading.
LONG = 50_000
PAGES = LONG // 500


def ended(dashboard, title: str):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(2), title=title)
    result_of(job, timeout_s=60)
    return job


def test_json_export_is_the_session(dashboard):
    job = ended(dashboard, 'An "export"\n  with lines')
    expected = {"collab": job.collab().to_wire(), "dialog": job.dialog().to_wire()}
    live = dashboard.file(job, "json")
    dashboard.expire(job)
    for answer in (live, dashboard.file(job, "json")):
        assert answer.status == 200
        assert answer.headers["content-disposition"] == f'attachment; filename="{job.id}.json"'
        assert answer.json() == expected
        assert answer.text == json.dumps(expected, ensure_ascii=False, indent=2)
    assert dashboard.file(job, "map-events").json()["events"][-1]["event_type"] == "MAPSessionCompleted"
    assert dashboard.file(job, "alignment").status == 400


@pytest.mark.parametrize("count", [0, 1, 3])
def test_json_with_long_lists_is_streamed(count):
    items = [{"text": f'"a"\n{number}', "more": [number]} for number in range(count)]
    pieces = list(stream_json({"a": 1, "b": {"c": ["@c"]}, "d": ["@d"]}, {"@c": items, "@d": iter(items)}))
    assert json.loads("".join(pieces)) == {"a": 1, "b": {"c": items}, "d": items}
    assert len(pieces) == 3 + 2 * count


def is_archived(redis, job) -> bool:
    """Whether no worker archives the session, or will do so before its check long after its end."""
    next_ms, (now_s, _) = redis.zscore(ARCHIVE_QUEUE, job.id), redis.time()
    return next_ms is None or next_ms > now_s * 1_000 + 2 * HOLD_MS


def lengthen(dashboard, job) -> None:
    """Adds copies of a long message to an ended session."""
    key = session_key(job.id, "dialog")
    with connect(dashboard.settings["redis_url"]) as redis:
        until(lambda: is_archived(redis, job), what="the session is archived, so that no worker reads it")
        ((_, fields),) = redis.xrange(key, count=1)
        name, text = next(iter(fields.items()))
        message = json.loads(text) | {"content": "x" * 1_000}
        for _ in range(LONG // 1_000):
            pipe = redis.pipeline(transaction=False)
            for _ in range(1_000):
                pipe.xadd(key, {name: json.dumps(message)})
            pipe.execute()


def begin_download(dashboard, job) -> socket.socket:
    """A reader of an export that has read its first bytes."""
    reader = socket.create_connection(("127.0.0.1", dashboard.flower.port), timeout=patient(30))
    request = (
        f"GET /api/collabs/{job.id}/export/json HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: {basic(CREDENTIALS)['Authorization']}\r\n\r\n"
    )
    reader.sendall(request.encode())
    assert reader.recv(15) == b"HTTP/1.1 200 OK"
    return reader


def pages_read(dashboard) -> int:
    with connect(dashboard.settings["redis_url"]) as redis:
        return int(redis.info("commandstats").get("cmdstat_xrange", {"calls": 0})["calls"])


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.leaves_keys
def test_a_download_waits_for_its_reader_and_ends_with_it(dashboard):
    job = ended(dashboard, "A long session")
    lengthen(dashboard, job)
    flower = dashboard.flower
    memory = psutil.Process(flower.process.pid).memory_info
    before, size = pages_read(dashboard), memory().rss
    with closing(begin_download(dashboard, job)):
        until(lambda: pages_read(dashboard) > before + 2, what="the download is read")
        # Other requests are answered meanwhile; the reader that waits has no thread.
        assert flower.json(f"/api/collabs/{job.id}/messages?count=1")["messages"]
        whole = dashboard.file(job, "json")
        assert len(whole.json()["dialog"]["messages"]) >= LONG
        assert pages_read(dashboard) < before + PAGES + PAGES // 2 + 20  # the slow one has read a part
    assert memory().rss - size < 150_000_000
    read = pages_read(dashboard)
    assert dashboard.file(ended(dashboard, "A short session"), "json").status == 200
    assert pages_read(dashboard) < read + PAGES // 4, "the download of the disconnected reader went on"


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.leaves_keys
def test_downloads_have_a_limit_and_a_broken_one_is_not_whole(dashboard):
    job = ended(dashboard, "A session with many readers")
    lengthen(dashboard, job)
    readers: list[socket.socket] = []
    try:
        readers.extend(begin_download(dashboard, job) for _ in range(MAX_DOWNLOADS))
        refused = dashboard.file(job, "json")
        assert (refused.status, "downloads" in refused.json()["error"]) == (503, True)
        with connect(dashboard.settings["redis_url"]) as redis:
            redis.xadd(session_key(job.id, "dialog"), {"m": "not a message"})
        last = b""
        while part := readers[0].recv(CHUNK_BYTES):
            last = (last + part)[-100:]
        assert not last.endswith(b"0\r\n\r\n"), "the end of the file looks regular"
    finally:
        for reader in readers:
            reader.close()
    other = ended(dashboard, "Another short session")
    until(lambda: dashboard.file(other, "json").status == 200, what="the places are free again")
