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
