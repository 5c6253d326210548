"""Open pages while all workers are killed, Redis is stopped, or Flower is restarted: they say so, and recover by themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from servers.browser import own_browser, own_tab
from servers.expendable import Expendable
from servers.layout import layout_faults

#: Playwright runs an event loop in the thread of a test.
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:a blocking call waits for a session"),
]

PATHS = ("/collabs", "/inbox", "/schedules", "/reviews")
LIVE = re.compile("^Live")
OpenPages = Callable[..., dict[str, Page]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser."""
    with own_browser() as browser:
        yield browser


@pytest.fixture
def open_pages(services: Expendable, browser: Browser) -> Iterator[OpenPages]:
    """Opens pages, each of a profile of its own."""
    with ExitStack() as stack:

        def open_pages(*paths: str) -> dict[str, Page]:
            pages = {path: stack.enter_context(own_tab(browser, services.flower.url)).page for path in paths}
            for path, page in pages.items():
                page.goto(path)
            return pages

        yield open_pages


def expect_said(pages: dict[str, Page], words: str, level: str) -> None:
    for path, page in pages.items():
        expect(page.locator("#health .notice"), path).to_contain_text(words)
        expect(page.locator("#health .fresh"), path).to_have_text(re.compile(f"^{level}"))


def expect_live(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        expect(page.locator("#health .notice"), path).to_have_count(0)
        expect(page.locator("#health .fresh"), path).to_have_text(LIVE)


def prefix_of_status(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.getElementById('status'), '::before').content"))


def expect_layout(pages: dict[str, Page], pictures: Path, name: str) -> None:
    for path, page in pages.items():
        kind = "one" if path.count("/") > 1 else "all"
        assert layout_faults(page, pictures, f"{name}-{path.split('/')[1]}-{kind}") == {}, path


@pytest.fixture
def paths(services: Expendable) -> tuple[str, ...]:
    """The paths of a page of each kind, the last one of a session whose first turn runs."""
    review = services.review()
    return (*PATHS, f"/reviews/{review.id}", f"/collabs/{services.submit().id}")


def test_pages_say_that_all_workers_are_lost(services: Expendable, open_pages: OpenPages, paths, pictures):
    pages = open_pages(*paths)
    session = pages[paths[-1]]
    why = session.locator("#session-notice .notice")
    expect_live(pages)
    expect(why).to_contain_text("ann speaks for")
    services.workers[0].kill()
    expect_said(pages, "No worker since", "Live")
    expect(why).to_contain_text("Worker w1@live is lost since")
    expect(why).to_contain_text("ann was speaking in turn 1.")
    expect(session.locator("#status")).to_have_text("worker lost")
    expect(session.locator("#people")).to_contain_text("worker lost")
    expect(pages["/inbox"].locator("#health .notice")).to_contain_text("1 session cannot go on")
    expect(pages["/collabs"].locator("#rows .state", has_text="worker lost")).to_be_visible()
    expect_layout(pages, pictures, "no-worker")
    services.start_worker()
    expect_live(pages)
    expect(why).to_contain_text("on worker w2@live")
    services.gate.touch()
    expect(why).to_contain_text("Completed at")
    expect(session.locator("#health .fresh")).to_have_text(re.compile("^Ended"))


def test_pages_say_that_redis_does_not_answer(services: Expendable, open_pages: OpenPages, paths, pictures):
    pages = open_pages(*paths)
    session = pages[paths[-1]]
    expect_live(pages)
    assert prefix_of_status(session) == "none"
    services.server.stop()
    expect_said(pages, "Redis does not answer since", "Stale")
    assert prefix_of_status(session) == '"was: "'
    why = session.locator("#session-notice")
    expect(why).to_contain_text("ann speaks for")
    before, line = why.inner_text(), session.locator("#health .notice").inner_text()
    expect(session.locator("#health .notice")).not_to_have_text(line)  # seconds have passed
    assert why.inner_text() == before
    late = open_pages("/collabs", paths[-1], "/inbox")
    expect_said(late, "Redis does not answer since", "Stale")
    expect_layout(pages, pictures, "no-redis")
    health = services.flower.json("/api/collabs")["health"]
    assert (health["level"], health["redis_away_ms"] is not None) == ("stale", True)
    services.server.start()
    expect_live(pages | late)
    expect(session.locator("#session-notice")).to_contain_text("ann speaks for")
    services.gate.touch()
    for page in (session, late[paths[-1]]):
        expect(page.locator("#status")).to_have_text("completed")
    row = pages["/collabs"].locator(f"#row-{paths[-1].removeprefix('/collabs/')}")
    expect(row.locator(".state")).to_have_text("completed")
    expect(session.locator("#health .fresh")).to_have_text(re.compile("^Ended"))
    session.clock.install()
    session.clock.fast_forward(60_000)
    expect(session.locator("#health .fresh")).to_have_text(re.compile("^Ended"))


def test_pages_say_that_flower_does_not_answer(services: Expendable, open_pages: OpenPages, paths, pictures):
    pages = open_pages(*paths)
    expect_live(pages)
    services.flower.kill()
    expect_said(pages, "No connection to Flower since", "Stale")
    expect_layout(pages, pictures, "no-flower")
    services.flower.start()
    expect_live(pages)
