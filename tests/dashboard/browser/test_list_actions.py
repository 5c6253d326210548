"""Actions on many sessions, saved views and groups, in the list of a browser; and the list without a script."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from live import result_of
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def test_selected_sessions_are_cancelled_after_a_confirmation(gated_sessions, open_tab):
    jobs = [
        gated_sessions.submit("round_robin", {"ann": "human", "bob": "say"}, stop=MaxTurns(2))
        for _ in range(3)
    ]
    page = open_tab(f"/collabs?q={gated_sessions.title}").page
    rows, bar = page.locator("#rows tr"), page.get_by_role("region", name="Selected sessions")
    expect(rows).to_have_count(3)
    expect(page.locator("[data-source]")).to_be_visible()
    expect(bar).to_be_hidden()
    for job in jobs[:2]:
        page.locator(f"#row-{job.id}").get_by_role("checkbox").check()
    page.get_by_role("button", name="Suspend").click()
    for job in jobs[:2]:
        expect(page.locator(f"#row-{job.id} .state")).to_have_text("suspended")
    expect(page.locator("#bulk-result")).to_have_text("Suspended 2 of 2 sessions.")

    rows.first.get_by_role("checkbox").check()
    page.get_by_role("link", name="Select all 3 that match").click()
    expect(page.locator("[data-source]")).to_be_visible()
    page.get_by_role("button", name="Cancel…").click()
    dialog = page.get_by_role("dialog", name="Cancel 3 of 3 sessions?")
    expect(dialog).to_contain_text("1 active, 2 suspended")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert not any(job.state().is_final for job in jobs)
    page.get_by_role("button", name="Cancel…").click()
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()  # the reason is required
    page.keyboard.type("no longer needed")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("#bulk-result")).to_have_text("Cancelled 3 of 3 sessions.")
    expect(page.locator("#rows .state")).to_have_text(["cancelled"] * 3)
    expect(page.locator("#rows .c-why")).to_have_text(["“no longer needed”"] * 3)


def test_view_is_saved_and_removed(open_tab):
    page = open_tab("/collabs?status=failed&since=24h").page
    page.get_by_role("button", name="Save this view…").click()
    page.keyboard.type("My <b>failures</b>")
    page.keyboard.press("Enter")
    page.goto("/collabs")
    page.get_by_role("link", name="My <b>failures</b>").click()
    expect(page).to_have_url(re.compile("status=failed&since=24h"))
    page.get_by_role("button", name="Remove view My <b>failures</b>").click()
    expect(page.get_by_role("link", name="My <b>failures</b>")).to_have_count(0)


def test_list_works_without_a_script(gated_sessions, open_tab):
    gated_sessions.open_gate()
    job = gated_sessions.submit("round_robin", {"ann": "blind", "bob": "say"}, stop=MaxTurns(2))
    result_of(job, timeout_s=60)
    page = open_tab("/collabs", java_script_enabled=False).page
    page.get_by_label("Search").fill(gated_sessions.title)
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#rows tr")).to_have_count(1)
    page.locator("#tabs").get_by_role("link", name="1 failed").click()
    row = page.locator(f"#row-{job.id}")
    expect(row).to_contain_text("cannot see")
    expect(row.locator(".c-time time")).to_contain_text("UTC")
    row.get_by_role("checkbox").check()
    with page.expect_download():
        page.get_by_role("button", name="Export").click()
    page.get_by_role("link", name="Failures by agent").click()
    group = page.get_by_role("row", name="blind")
    expect(group).to_contain_text("100 %")
    group.get_by_role("link", name="blind").click()
    expect(row).to_be_visible()
