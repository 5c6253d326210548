"""The changes of a session: as server-sent events that resume, and by polling."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from live import result_of, until
from scaling import patient
from servers.dashboard import CREDENTIALS
from servers.flower import basic
from servers.model_stub import completion
from symposia.dashboard.live.positions import BEGINNING, PARTS, read_positions
from symposia.dashboard.live.session_streams import MAX_ENTRIES, read_pages
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns
from symposia.models.turns.streaming import Delta
from symposia.state.redis.connect import aconnect, connect
from symposia.state.redis.keys import session_key

pytestmark = [pytest.mark.long, pytest.mark.timeout(180), pytest.mark.leaves_keys]

TEXT = "one two three four five six seven eight nine ten"


def gated(dashboard, **agents: str):
    gate = dashboard.folder / f"gate-{len(list(dashboard.folder.iterdir()))}"
    gate.with_suffix(".used").touch()
    job = dashboard.submit(
        "round_robin", {"bob": "gated", **agents}, stop=MaxTurns(2),
        parameters={"gate": str(gate), "gate_turn": 1},
    )  # fmt: skip
    return job, gate


def stream(dashboard, job, since: str = "0-0", **headers: str):
    return dashboard.flower.stream(
        f"/api/collabs/{job.id}/stream?after={since}", **basic(CREDENTIALS), **headers
    )


def kinds(events: list[Any]) -> set[str]:
    return {name for it in events for name in it.data}


def keys(events: list[Any]) -> list[str]:
    """What was sent: ids of events and messages."""
    named = [it.data.get("event") or it.data.get("message") for it in events]
    return [it["id"] for it in named if it]


def test_stream_is_complete_and_resumes(dashboard):
    job, gate = gated(dashboard, ann="say")
    sent: list[Any] = []
    with stream(dashboard, job) as live:
        assert live.headers["content-type"].startswith("text/event-stream")
        first = live.until(lambda it: sent.append(it) or it.data.get("change", {}).get("span"))
        assert first.data["change"]["span"]["key"] == "1.1"
        gate.touch()
        message = live.until(lambda it: sent.append(it) or "message" in it.data)
        assert message.data["message"]["nodes"] == [{"tag": "p", "children": ["bob speaks in turn 1"]}]
    result_of(job, timeout_s=60)
    with stream(dashboard, job, Last_Event_ID=message.id) as live:
        left = list(live)
    assert left[-1].kind == "end"
    expected = [f"{part}:{it}" for part in ("events", "journal") for it in ids(dashboard, job, part)]
    assert sorted(keys(sent + left)) == sorted(expected + ids(dashboard, job, "dialog")), "each is sent once"
    assert [it.data["message"]["turn"] for it in left if "message" in it.data] == [2]
    changes = dashboard.get(job, f"/changes?after={message.id}")["changes"]
    assert changes == [it.data for it in left[:-1]]


def test_two_readers_see_each_change_once(dashboard):
    job, gate = gated(dashboard, ann="say")
    seen: dict[str, list[Any]] = {"a": [], "b": []}
    threads = []
    for name, events in seen.items():

        def read(name: str = name, events: list[Any] = events) -> None:
            with stream(dashboard, job) as live:
                events.extend(live)  # the server ends it with the session

        threads.append(threading.Thread(target=read, daemon=True))
        threads[-1].start()
    until(lambda: all(seen.values()), what="both follow")
    gate.touch()
    result_of(job, timeout_s=60)
    for thread in threads:
        thread.join(patient(60))
    events = {f"events:{it}" for it in ids(dashboard, job, "events")} | {
        f"journal:{it}" for it in ids(dashboard, job, "journal")
    }
    for found in seen.values():
        sent = keys(found)
        assert len(sent) == len(set(sent))
        assert events <= set(sent)
        assert found[-1].kind == "end"
        assert [it.data["message"]["turn"] for it in found if "message" in it.data] == [1, 2]


def ids(dashboard, job, part: str) -> list[str]:
    with connect(dashboard.settings["redis_url"]) as redis:
        return [it for it, _ in redis.xrange(session_key(job.id, part))]


def test_model_output_is_streamed(dashboard, model):
    pause = threading.Event()
    model.answers(completion(TEXT, pause=pause, pause_after=3))
    job, gate = gated(dashboard, ann="model")
    with stream(dashboard, job) as live:
        with connect(dashboard.settings["redis_url"]) as redis:
            until(lambda: redis.exists(session_key(job.id, "listening")), what="the page is registered")
        gate.touch()
        words = ""
        while words != "one two three":
            piece = live.until(lambda it: "delta" in it.data).data["delta"]
            assert (piece["turn"], piece["offset"], piece["participant"]) == (2, len(words), "ann")
            words += piece["text"]
        session = dashboard.get(job)
        assert session["open_turns"][0]["participant"] == "ann"
        pause.set()
        message = live.until(lambda it: it.data.get("message", {}).get("turn") == 2)
        assert message.data["message"]["nodes"] == [{"tag": "p", "children": [TEXT]}]
    result_of(job, timeout_s=60)
    with stream(dashboard, job, since=session["live_from"]) as live:
        late = [it.data["delta"]["text"] for it in live if "delta" in it.data]
    # The last words may be left out, as the message has them.
    said = "".join(late)
    assert said.startswith("one two three"), "a page that comes later gets the output of the running turn"
    assert TEXT.startswith(said)


def polled(dashboard, job) -> list[Any]:
    """All changes, page by page."""
    position, found = "0-0", []
    for _ in range(100):
        page = dashboard.get(job, f"/changes?after={position}")
        if page["position"] == position:
            return found
        found += page["changes"]
        position = page["position"]
    raise AssertionError("polling does not advance")


def test_polling_returns_the_same_changes_in_pages(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(3))
    result_of(job, timeout_s=60)
    found = polled(dashboard, job)
    messages = {it["message"]["id"]: it["message"] for it in found if "message" in it}
    shown = dashboard.get(job, "/messages")["messages"]
    assert [messages[it["id"]] for it in shown] == shown
    events = {it["event"]["id"] for it in found if "event" in it}
    assert events == {it["id"] for it in dashboard.get(job, "/events?count=500")["events"]}


@contextmanager
def slow_page(dashboard, job):
    """The socket of a page that has sent its request, and has read nothing."""
    user = "".join(f"{name}: {value}\r\n" for name, value in basic(CREDENTIALS).items())
    request = f"GET /api/collabs/{job.id}/stream?after=0-0 HTTP/1.1\r\nHost: 127.0.0.1\r\n{user}\r\n"
    with socket.socket() as page:
        page.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        page.settimeout(patient(30))
        page.connect(("127.0.0.1", dashboard.flower.port))
        page.sendall(request.encode())
        yield page


def add_entries(redis, job, part: str, record: str, count: int, at: str = "*") -> None:
    with redis.pipeline(transaction=False) as pipe:
        for _ in range(count):
            pipe.xadd(session_key(job.id, part), {"data": record}, id=at)
        pipe.execute()


def test_slow_page_is_not_told_the_end(dashboard):
    job, gate = gated(dashboard, ann="say")
    delta = Delta(
        turn_number=1, attempt=1, participant_id="bob", token_id="t", offset=0, text="x" * 8_000
    ).model_dump_json()  # fmt: skip
    with connect(dashboard.settings["redis_url"]) as redis, slow_page(dashboard, job) as page:
        until(lambda: redis.exists(session_key(job.id, "listening")), what="the page is registered")
        with stream(dashboard, job, since=ids(dashboard, job, "events")[-1]) as fast:
            for _ in range(25):  # more than the queue of a page and the buffers of its socket hold
                add_entries(redis, job, "deltas", delta, 200)
                last = ids(dashboard, job, "deltas")[-1]
                fast.until(lambda it, last=last: it.id.endswith(f".{last}"))
        sent = b""
        while piece := page.recv(1_000_000):
            sent += piece
            if sent.endswith(b"0\r\n\r\n"):
                break
    assert b"event: end" not in sent
    found = re.findall(rb"^id: (\S+)$", sent, re.MULTILINE)
    assert found
    gate.touch()
    result_of(job, timeout_s=60)
    with stream(dashboard, job, Last_Event_ID=found[-1].decode()) as live:
        left = list(live)
    assert left[-1].kind == "end"
    received = [it.decode() for it in found] + [it.id for it in left if it.id]
    assert set(ids(dashboard, job, "events")) <= {it.partition(".")[0] for it in received}


def test_long_session_is_sent_in_pages(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1))
    result_of(job, timeout_s=60)
    with connect(dashboard.settings["redis_url"]) as redis:
        record = redis.xrange(session_key(job.id, "dialog"), count=1)[0][1]
        text = next(iter(record.values()))
        add_entries(redis, job, "dialog", text, 1_500)
        # Several pages of one millisecond, in two streams.
        at_ms = int(ids(dashboard, job, "dialog")[-1].partition("-")[0]) + 1
        for part in ("dialog", "journal"):
            kept = next(iter(redis.xrange(session_key(job.id, part), count=1)[0][1].values()))
            add_entries(redis, job, part, kept, 700, at=f"{at_ms}-*")
    with stream(dashboard, job) as live:
        sent = list(live)
    assert sent[-1].kind == "end"
    middle = len(sent) - 400  # within the millisecond
    with stream(dashboard, job, Last_Event_ID=sent[middle].id) as live:
        assert [it.data for it in live] == [it.data for it in sent[middle + 1 :]]
    for changes in ([it.data for it in sent], polled(dashboard, job)):
        messages = [it["message"]["id"] for it in changes if "message" in it]
        assert messages == ids(dashboard, job, "dialog")
        notes = [it["event"]["id"] for it in changes if "event" in it]
        assert [it for it in notes if it.startswith("journal:")] == [
            f"journal:{it}" for it in ids(dashboard, job, "journal")
        ]


def test_pages_of_a_stream_are_bounded(redis_url):
    job = SimpleNamespace(id="pages")

    async def read() -> list[int]:
        async with aconnect(redis_url) as redis:
            after = read_positions(BEGINNING)
            return [len(page.entries) async for page in read_pages(redis, job.id, after)]

    with connect(redis_url) as redis:
        for part in PARTS:
            add_entries(redis, job, part, "{}", 3 * MAX_ENTRIES, at="5-*")
    sizes = asyncio.run(read())
    assert max(sizes) <= len(PARTS) * MAX_ENTRIES
    assert sum(sizes) == 3 * len(PARTS) * MAX_ENTRIES


@pytest.mark.parametrize("since", ["x", "1-2-3", "-1", "1.2", "1.2.3.x"])
def test_bad_position_is_refused(dashboard, since):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1))
    result_of(job, timeout_s=60)
    assert dashboard.raw(job, f"/changes?after={since}").status == 400
