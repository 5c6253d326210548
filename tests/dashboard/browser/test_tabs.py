"""Many tabs of one browser: few streams, and every tab shows every change."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, Request, Response, expect

from live import until
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

TURNS = 4


class OpenStreams:
    """The streams that a browser has open."""

    def __init__(self, context: BrowserContext) -> None:
        self.open: set[Request] = set()
        self.most = 0
        context.on("response", self._begin)
        context.on("requestfinished", self._end)
        context.on("requestfailed", self._end)

    def _begin(self, response: Response) -> None:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            self.open.add(response.request)
            self.most = max(self.most, len(self.open))

    def _end(self, request: Request) -> None:
        self.open.discard(request)


def states(pages: list[Page]) -> list[str]:
    """How the pages get changes."""
    return sorted(page.locator("[data-view]").get_attribute("data-source") or "" for page in pages)


def test_twelve_tabs_share_three_streams(gated_sessions, open_tab):
    agents = {"ann": "stepped", "bob": "stepped"}
    jobs = [gated_sessions.submit("round_robin", agents, stop=MaxTurns(TURNS)) for _ in range(2)]
    tab = open_tab("/schedules")
    tab.page.goto("about:blank")  # it would have a stream
    context = tab.context
    streams = OpenStreams(context)
    paths = ["/collabs", *(f"/collabs/{job.id}" for job in jobs)] * 4
    pages = {context.new_page(): path for path in paths}
    for page, path in pages.items():
        page.goto(path)
    expected = ["polling"] * 9 + ["stream"] * 3
    until(lambda: states(list(pages)) == expected, what="three tabs stream, the others poll")

    for turn in range(1, TURNS + 1):
        gated_sessions.step(turn)
        speaker = "bob" if turn % 2 == 0 else "ann"
        for page, path in pages.items():
            if path == "/collabs":
                for job in jobs:
                    progress = page.locator(f"#row-{job.id} .c-progress")
                    expect(progress).to_contain_text(f"{turn} of {TURNS} turns")
            else:
                texts = page.locator("#turns .said")
                expect(texts).to_have_count(turn)
                expect(texts.last).to_have_text(f"{speaker} speaks in turn {turn}")
    for page, path in pages.items():
        if path == "/collabs":
            for job in jobs:
                expect(page.locator(f"#row-{job.id}")).to_contain_text("completed")
        else:
            expect(page.locator("#status")).to_have_text("completed")
            expect(page.locator("#turns > .turn")).to_have_count(TURNS)
    assert streams.most == 3
