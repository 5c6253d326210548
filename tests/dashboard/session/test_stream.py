"""The live parts of a session's page: as server-sent events that resume, and by polling."""

from __future__ import annotations

import asyncio
import re
import threading
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


class OpenPage:
    """What the page of a session shows: its fragments, and the orders of its lists."""

    def __init__(self) -> None:
        self.html: dict[str, str] = {}
        self.lists: dict[str, list[str]] = {}
        self.sent = 0

    def take(self, changes: dict[str, Any]) -> OpenPage:
        self.html.update(changes.get("html", {}))
        self.lists.update(changes.get("lists", {}))
        self.sent += len(changes.get("html", {}))
        return self

    def turns(self) -> list[str]:
        """The texts of the turns, in their order."""
        texts = ["".join(re.findall(r"<p>(.*?)</p>", self.html[it])) for it in self.lists.get("turns", ())]
        return [it for it in texts if it]


def stream(dashboard, job, after: str = "", **headers: str):
    path = f"/api/collabs/{job.id}/stream?view=session&after={after}"
    return dashboard.flower.stream(path, **basic(CREDENTIALS), **headers)


def follow(live, page: OpenPage, condition) -> Any:
    """Take events until a condition of the page holds; return the last one."""

    def take(event: Any) -> bool:
        if event.kind == "fragments":
            page.take(event.data)
        return event.kind == "end" or condition(page)

    return live.until(take)


def test_stream_is_complete_and_resumes(dashboard):
    job, gate = gated(dashboard, ann="say")
    page = OpenPage()
    with stream(dashboard, job) as live:
        assert live.headers["content-type"].startswith("text/event-stream")
        follow(live, page, lambda it: "speaking" in it.html.get("turn-1", ""))
        gate.touch()
        last = follow(live, page, lambda it: it.turns())
        assert page.turns()[0] == "bob speaks in turn 1"
    result_of(job, timeout_s=60)
    all_sent = page.sent
    with stream(dashboard, job, Last_Event_ID=last.id) as live:
        assert follow(live, page, lambda _: False).kind == "end"
    assert page.turns() == ["bob speaks in turn 1", "ann speaks in turn 2"]
    assert "completed" in page.html["summary"]
    assert page.sent - all_sent < len(page.html), "what the page had is not sent again"
    fresh = OpenPage().take(dashboard.get(job, "/changes?view=session"))
    assert (fresh.html, fresh.lists) == (page.html, page.lists), "a resumed page equals a fresh one"
    shown = dashboard.page(job).text
    assert all(it in shown for name, it in page.html.items() if name.startswith("turn-"))


def test_two_pages_show_the_same(dashboard):
    job, gate = gated(dashboard, ann="say")
    pages = {"a": OpenPage(), "b": OpenPage()}
    threads = []
    for page in pages.values():

        def read(page: OpenPage = page) -> None:
            with stream(dashboard, job) as live:  # the server ends it with the session
                follow(live, page, lambda _: False)

        threads.append(threading.Thread(target=read, daemon=True))
        threads[-1].start()
    until(lambda: all(it.html for it in pages.values()), what="both follow")
    gate.touch()
    result_of(job, timeout_s=60)
    for thread in threads:
        thread.join(patient(60))
    assert pages["a"].html == pages["b"].html
    assert pages["a"].turns() == ["bob speaks in turn 1", "ann speaks in turn 2"]


def test_model_output_is_shown_while_it_is_written(dashboard, model):
    pause = threading.Event()
    model.answers(completion(TEXT, pause=pause, pause_after=3))
    job, gate = gated(dashboard, ann="model")
    page = OpenPage()
    with stream(dashboard, job) as live:
        with connect(dashboard.settings["redis_url"]) as redis:
            until(lambda: redis.exists(session_key(job.id, "listening")), what="the page is registered")
        gate.touch()
        follow(live, page, lambda it: "one two three" in it.html.get("turn-2", ""))
        assert "writes" in page.html["turn-2"]
        late = dashboard.page(job).text
        assert "one two three" in late, "a page that comes later gets the output of the running turn"
        pause.set()
        follow(live, page, lambda it: TEXT in it.html.get("turn-2", ""))
    result_of(job, timeout_s=60)


def test_polling_page_gets_what_it_does_not_have(dashboard):
    job, gate = gated(dashboard, ann="say")
    first = dashboard.get(job, "/changes?view=session")
    page = OpenPage().take(first)
    gate.touch()
    result_of(job, timeout_s=60)
    after = first["after"]

    def is_complete() -> bool:
        nonlocal after
        answer = dashboard.get(job, f"/changes?view=session&after={after}")
        after = answer["after"]
        return len(page.take(answer).turns()) == 2 and "completed" in page.html["summary"]

    until(is_complete, what="the page has both messages")
    assert dashboard.get(job, f"/changes?view=session&after={after}").keys() == {"after"}


def add_entries(redis, job, part: str, record: str, count: int, at: str = "*") -> None:
    with redis.pipeline(transaction=False) as pipe:
        for _ in range(count):
            pipe.xadd(session_key(job.id, part), {"data": record}, id=at)
        pipe.execute()


def test_long_session_is_opened_with_its_newest_turns(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1))
    result_of(job, timeout_s=60)
    with connect(dashboard.settings["redis_url"]) as redis:
        record = redis.xrange(session_key(job.id, "dialog"), count=1)[0][1]
        add_entries(redis, job, "dialog", next(iter(record.values())).replace("turn 1", "turn x"), 1_500)
    page = OpenPage().take(dashboard.get(job, "/changes?view=session"))
    assert "First turn" in page.html["earlier"]
    assert page.html["turn-1"].count("speaks in turn x") == 100


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
