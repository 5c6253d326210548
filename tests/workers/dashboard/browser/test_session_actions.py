"""Actions on the page of a session, when a request fails or a person clicks twice."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def test_escape_keeps_the_session_after_a_failure(stage, open_tab):
    job = stage.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    tab = open_tab(f"/collabs/{job.id}")
    page = tab.page
    requests: list[str] = []

    def fail(route: Route) -> None:
        requests.append(route.request.url)
        route.fulfill(status=503, json={"error": "no connection"})

    page.route("**/cancel", fail)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the session").click()
    expect(page.locator("#action-status")).to_have_text("cancel failed: no connection")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    stage.open_gate()
    expect(page.locator("#status")).to_have_text("completed")
    assert len(requests) == 1
    assert all("503" in it for it in tab.errors)
    tab.errors.clear()


def test_double_click_sends_one_request(stage, open_tab):
    job = stage.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page
    requests: list[str] = []
    page.on("request", lambda it: requests.append(it.url) if it.method == "POST" else None)
    page.get_by_role("button", name="Suspend").dblclick()
    expect(page.locator("#action-status")).to_have_text("suspend: done")
    expect(page.get_by_role("button", name="Resume")).to_be_enabled()

    page.get_by_label("Message to the session").fill("Once.")
    post = page.get_by_role("button", name="Post")
    post.dblclick()
    expect(page.locator("#action-status")).to_have_text("post: done")
    expect(post).to_be_enabled()
    assert [it.rpartition("/")[2] for it in requests] == ["suspend", "post"]
