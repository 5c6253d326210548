"""The page of a session while it changes: keyboard focus, and failures of the connection."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Route, expect

from live import result_of
from symposia.models.attachments import Attachment
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def wait_for_changes(text: Locator, count: int) -> None:
    """Wait until an element has changed several times."""
    for _ in range(count):
        expect(text).not_to_have_text(text.inner_text())


def test_links_keep_the_focus_while_a_turn_runs(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page
    link = page.get_by_role("link", name="Celery task of turn 1, attempt 1", exact=True).last
    took = page.locator("#turns tr").first.locator("td").nth(4)
    link.focus()
    wait_for_changes(took, 3)
    expect(link).to_be_focused()

    export = page.get_by_role("link", name="Export json")
    export.focus()
    for change, status in ((job.suspend, "suspended"), (job.resume, "active")):
        change()
        expect(page.locator("#status")).to_have_text(status)
    expect(export).to_be_focused()
    gated_sessions.open_gate()
    expect(page.locator("#status")).to_have_text("completed")
    expect(page.locator("#turns tr")).to_have_count(2)
    expect(page.locator("#turns")).to_contain_text("message")
    expect(export).to_be_focused()


def test_page_loads_after_failures_of_each_request(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    tab = open_tab("/inbox")
    page = tab.page
    failed: list[str] = []

    def fail_once(route: Route) -> None:
        url = route.request.url.partition("?")[0]
        if url in failed:
            route.continue_()
            return
        failed.append(url)
        route.fulfill(status=503, json={"error": "no connection"})

    for part in ("", "/messages", "/timeline"):
        page.route(re.compile(f"/api/collabs/{job.id}{part}([?].*)?$"), fail_once)
    page.goto(f"/collabs/{job.id}")
    expect(page.locator("#live-status")).to_have_text("Live")
    expect(page.locator("#now")).to_contain_text("ann")
    gated_sessions.open_gate()
    expect(page.locator("#status")).to_have_text("completed")
    assert len(failed) == 3
    assert all("503" in it for it in tab.errors)
    tab.errors.clear()


def test_page_works_without_the_dialog_memory(gated_sessions, open_tab):
    job = gated_sessions.submit(
        "round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2), user_id=7, room_id="room"
    )
    tab = open_tab("/inbox")
    page = tab.page
    page.route("**/memory", lambda route: route.fulfill(status=503, json={"error": "no connection"}))
    page.goto(f"/collabs/{job.id}")
    expect(page.locator("#live-status")).to_have_text("Live")
    expect(page.locator("#memory-note")).to_have_text("Not up to date: no connection")
    page.unroute("**/memory")
    gated_sessions.open_gate()
    expect(page.locator("#messages > li")).to_have_count(2)
    expect(page.locator("#memory-note")).to_have_text("Private values are masked.")
    assert all("503" in it for it in tab.errors)
    tab.errors.clear()


def test_polling_page_shows_the_archived_session(services, gated_sessions, open_tab):
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

    page.route(f"**/api/collabs/{job.id}/changes*", poll)
    page.goto(f"/collabs/{job.id}")
    expect(page.locator("#live-status")).to_have_text("Live, once a second")
    is_down = True
    expect(page.locator("#live-status")).to_contain_text("Connection lost")
    gated_sessions.open_gate()
    result_of(job, timeout_s=60)
    services.expire(job)
    is_down = False
    expect(page.locator("#live-status")).to_contain_text("Archived")
    expect(page.locator("#status")).to_have_text("completed")
    tab.errors.clear()


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
