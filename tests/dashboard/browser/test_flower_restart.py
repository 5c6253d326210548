"""Open pages while Flower is killed in the middle of a session, and started again by `symposia up`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from live import result_of, until
from symposia.jobs.collab import CollabJob
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

TURNS = 6
#: The line of a page that is up to date, by its way to get changes.
WORDS = {"stream": "stream", "polling": "polling"}


@pytest.fixture
def submit(gated_sessions) -> Callable[[int], CollabJob]:
    return lambda turns: gated_sessions.submit(
        "round_robin", {"ann": "stepped", "bob": "stepped"}, stop=MaxTurns(turns)
    )


@pytest.fixture(params=WORDS)
def words(request) -> str:
    return WORDS[request.param]


@pytest.fixture
def open_page(open_tab, words):
    """Opens a page that gets changes in one of two ways. While Flower is down, its browser reports it."""
    tabs = []

    def open_page(path: str) -> Page:
        tab = open_tab("/schedules")
        tabs.append(tab)
        if words == WORDS["polling"]:
            tab.page.route("**/stream?*", lambda route: route.fulfill(status=204))
        tab.page.goto(path)
        expect(tab.page.locator("#health")).to_contain_text("Live")
        expect(tab.page.locator("[data-view]")).to_have_attribute("data-source", words)
        return tab.page

    yield open_page
    for tab in tabs:
        tab.errors[:] = [it for it in tab.errors if "net::ERR_" not in it]


def turns_of(listed: Page, job: CollabJob) -> Locator:
    return listed.locator(f"#row-{job.id} .c-progress")


def test_open_pages_resume_after_a_restart(services, gated_sessions, submit, open_page, words):
    job = submit(TURNS)
    listed, page = open_page("/collabs"), open_page(f"/collabs/{job.id}")
    texts = page.locator("#turns .said")
    gated_sessions.step(1)
    gated_sessions.step(2)
    expect(texts).to_have_count(2)
    expect(turns_of(listed, job)).to_contain_text(f"2 of {TURNS} turns")

    with services.without_flower():
        expect(page.locator("#health")).to_contain_text("No connection to Flower since")
        expect(listed.locator("#health")).to_contain_text("No connection to Flower since")
        gated_sessions.step(3)
        until(lambda: len(list(job.messages())) == 3, what="a turn ends while Flower is down")
        unseen = submit(1)
    expect(page.locator("#health")).not_to_contain_text("No connection")
    expect(listed.locator("#health")).not_to_contain_text("No connection")
    expect(turns_of(listed, job)).to_contain_text(f"3 of {TURNS} turns")
    expect(turns_of(listed, unseen)).to_contain_text("1 of 1 turn")  # its turn has the same gate
    expect(texts).to_have_count(3)

    page.get_by_label("Message to the session").fill("Go on.")
    page.get_by_role("button", name="Post").click()
    expect(page.locator("#action-status")).to_have_text("post: done")
    gated_sessions.open_gate()
    result_of(job)
    expect(page.locator("#status")).to_have_text("completed")
    expect(listed.locator(f"#row-{job.id}")).to_contain_text("completed")
    expect(turns_of(listed, job)).to_contain_text(f"{TURNS} of {TURNS} turns")
    spoken = [f"{'bob' if it % 2 == 0 else 'ann'} speaks in turn {it}" for it in range(1, TURNS + 1)]
    expect(texts).to_have_count(TURNS + 1)  # the page reads the state and the messages separately
    assert [it for it in texts.all_inner_texts() if it != "Go on."] == spoken
    assert listed.locator(f"#row-{job.id}").count() == 1


def test_resumed_page_equals_a_fresh_one(services, gated_sessions, submit, open_page):
    job = submit(TURNS)
    page = open_page(f"/collabs/{job.id}")
    gated_sessions.step(1)
    gated_sessions.step(2)
    expect(page.locator("#turns > .turn")).to_have_count(3)
    with services.without_flower():
        gated_sessions.step(3)
        gated_sessions.step(4)
        until(lambda: len(list(job.messages())) == 4, what="turns end while Flower is down")
    gated_sessions.open_gate()
    expect(page.locator("#status")).to_have_text("completed")

    fresh = page.context.new_page()
    fresh.goto(f"/collabs/{job.id}")
    for part, count in {"#turns > .turn": TURNS, "#people tr": 2, ".facts dd": 8}.items():
        expect(fresh.locator(part)).to_have_count(count)
        expect(page.locator(part)).to_have_text(fresh.locator(part).all_text_contents())
