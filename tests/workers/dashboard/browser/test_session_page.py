"""The page of a session while it changes: keyboard focus, and failures of the connection."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def wait_for_changes(text: Locator, count: int) -> None:
    """Wait until an element has changed several times."""
    for _ in range(count):
        expect(text).not_to_have_text(text.inner_text())


def test_links_keep_the_focus_while_a_turn_runs(stage, open_tab):
    job = stage.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
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
    stage.open_gate()
    expect(page.locator("#status")).to_have_text("completed")
    expect(page.locator("#turns tr")).to_have_count(2)
    expect(page.locator("#turns")).to_contain_text("message")
    expect(export).to_be_focused()
