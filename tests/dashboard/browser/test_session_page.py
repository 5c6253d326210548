"""The page of a session while it changes: keyboard focus, and failures of the connection."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Route, expect

from live import result_of
from symposia.models.attachments import Attachment
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def test_links_keep_the_focus_while_a_turn_runs(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page
    expect(page.locator("#turn-1")).to_contain_text("speaking")
    export = page.get_by_role("link", name="Export json")
    export.focus()
    for change, status in ((job.suspend, "suspended"), (job.resume, "active")):
        change()
        expect(page.locator("#status")).to_have_text(status)
    expect(export).to_be_focused()
    gated_sessions.open_gate()
    expect(page.locator("#status")).to_have_text("completed")
    expect(page.locator("#turns > .turn")).to_have_count(2)
    expect(export).to_be_focused()


def test_polling_page_shows_the_end_of_a_session_that_is_archived(services, gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    tab = open_tab("/inbox")
    page = tab.page
    page.route(f"**/api/collabs/{job.id}/stream*", lambda route: route.fulfill(status=204))
    is_down = False

    def poll(route: Route) -> None:
        if is_down:
            route.fulfill(status=503, json={"error": "no connection"})
        else:
            route.continue_()

    page.route(re.compile(f"/api/collabs/{job.id}/changes|/api/health"), poll)
    page.goto(f"/collabs/{job.id}")
    expect(page.locator("[data-view]")).to_have_attribute("data-source", "polling")
    is_down = True
    expect(page.locator("#health")).to_contain_text("since")
    expect(page.locator("#dashboard")).to_have_class(re.compile("stale"))
    gated_sessions.open_gate()
    result_of(job, timeout_s=60)
    services.expire(job)
    is_down = False
    expect(page.locator("#status")).to_have_text("completed")
    expect(page.locator("#turns .said")).to_have_count(2)
    tab.errors.clear()


def test_transcript_is_searched_and_turns_are_reached(gated_sessions, open_tab):
    gated_sessions.open_gate()
    job = gated_sessions.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(130))
    result_of(job, timeout_s=60)
    page = open_tab(f"/collabs/{job.id}").page
    expect(page.locator("#turns > .turn")).to_have_count(100)
    page.get_by_role("link", name="First turn").click()
    expect(page.locator("#turns > .turn").first).to_have_id("turn-1")
    page.get_by_label("Turn", exact=True).fill("7")
    page.get_by_role("button", name="Go").click()
    expect(page).to_have_url(re.compile(r"\?turn=7$"))
    expect(page.locator("#turn-7")).to_contain_text("speaks in turn 7")
    page.get_by_label("Turn", exact=True).fill("")
    page.get_by_label("Search in the transcript").fill("in turn 129")
    page.get_by_role("button", name="Go").click()
    expect(page.locator("#turns > .turn")).to_have_count(1)
    expect(page.locator("#earlier")).to_contain_text("1 entry contains")
    page.go_back()
    expect(page.locator("#turn-7")).to_be_visible()


def test_links_keep_the_parameters_of_the_others(gated_sessions, open_tab):
    gated_sessions.open_gate()
    job = gated_sessions.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(250))
    result_of(job, timeout_s=60)
    page = open_tab(f"/collabs/{job.id}?events=newest").page
    turns = page.locator("#turns > .turn")
    page.locator("#people-head").get_by_role("link", name="Turns").click()
    expect(page.locator("#people-head th").nth(2)).to_have_attribute("aria-sort", "descending")
    page.locator("#who-bob").get_by_role("link", name="bob").click()
    expect(turns).to_have_count(100)
    expect(page.locator("#turns")).not_to_contain_text("ann speaks")
    page.locator("#earlier").get_by_role("link", name="Earlier").click()
    expect(turns).to_have_count(25)
    expect(turns.first).to_have_id("turn-2")
    page.get_by_label("Search in the transcript").fill("in turn 5")
    page.get_by_role("button", name="Go").click()
    expect(turns).to_have_count(5)
    query = parse_qs(urlsplit(page.url).query)
    assert query == {"events": ["newest"], "people": ["turns"], "who": ["bob"], "find": ["in turn 5"]}
    turns.last.locator(".n").click()
    assert parse_qs(urlsplit(page.url).query) == {"events": ["newest"], "people": ["turns"], "turn": ["58"]}
    page.locator("#span").get_by_role("link", name="last hour").click()
    expect(page.locator("#earlier")).to_contain_text("Only from 1h.")
    expect(turns.last).to_have_id("turn-250")


def test_turn_says_how_long_it_paused_and_what_planned_it(gated_sessions, open_tab):
    policy = {"attempts": 2, "backoff_s": 600, "then": "skip"}
    job = gated_sessions.submit("round_robin", {"ann": "say", "bob": "hostile_fail"}, policy=policy)
    page = open_tab(f"/collabs/{job.id}").page
    turn = page.locator("#turn-2")
    expect(turn).to_contain_text("retries")
    expect(turn).to_contain_text("next attempt at")
    expect(turn).to_contain_text("after turn 1")
    expect(turn).to_contain_text("Attempt 1 failed after")
    expect(page.locator("#who-bob .p-state")).to_have_text("retries")
    expect(page.locator("#who-bob .lane rect").last).to_have_class("backoff")
    job.cancel()


def test_files_of_messages_are_downloaded(gated_sessions, open_tab):
    file = Attachment.of("page.html", "<script>document.title = 'taken over'</script>")
    job = gated_sessions.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(1), attachments=[file])
    result_of(job, timeout_s=60)
    page = open_tab(f"/collabs/{job.id}").page
    files = page.get_by_role("list", name="attachments")
    expect(files).to_have_text("page.html text/html, 46 bytes")
    with page.expect_download() as download:
        files.get_by_role("link", name="page.html").click()
    assert download.value.suggested_filename == "page.html"
    assert download.value.path().read_bytes() == file.data
