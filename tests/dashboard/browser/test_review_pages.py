"""Reviews in a browser: the list, findings with filters, the report in its frame, retry and cancel."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from live import result_of
from stub_agents.hostile import MARKUP
from symposia.dashboard.views.visible import make_visible

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

HOSTILE_NAME = "<img src=x onerror=pwned=1>.txt"


def test_hostile_findings_are_filtered_and_failed_items_retried(services, review, open_tab):
    job = review("hostile_review", HOSTILE_NAME, "good.txt", "bad.txt", root_name=MARKUP)
    result_of(job, timeout_s=60)
    tab = open_tab("/reviews")
    page = tab.page
    row = page.locator("#rows tr", has=page.locator(f"a[href$='{job.id}']"))
    expect(row).to_contain_text(MARKUP)
    assert tab.unsafe_parts() == []

    row.get_by_role("link").click()
    expect(page.locator("#title")).to_contain_text(MARKUP)
    findings = page.locator("#findings article")
    expect(findings).to_have_count(2)
    expect(findings.filter(has_text=HOSTILE_NAME)).to_have_count(1)
    for part in ("h3", ".said", "pre"):
        expect(findings.first.locator(part)).to_contain_text(f"{MARKUP} [a](javascript:pwned=1)")
    page.locator("#failed-part summary").click()
    expect(page.locator("#failed")).to_contain_text(MARKUP)

    severity, status = page.get_by_label("Severity"), page.get_by_label("Status")
    severity.select_option("low")
    expect(page.locator("#findings")).to_have_text("No findings.")
    severity.select_option("high")
    expect(findings).to_have_count(2)
    status.select_option("gone")
    expect(page.locator("#findings")).to_have_text("No findings.")
    status.select_option("new")
    expect(findings).to_have_count(2)

    page.locator("#report summary").click()
    report = page.frame_locator("#report-frame")
    expect(report.locator("body")).to_contain_text(MARKUP)
    text = report.locator("body").text_content()
    assert text == make_visible(text)
    assert report.locator("img, script, a[href^='javascript']").count() == 0
    assert tab.unsafe_parts() == []

    (fixed := services.folder / "fixed").touch()
    try:
        page.get_by_role("button", name="Retry failed items").click()
        expect(findings).to_have_count(3)
    finally:
        fixed.unlink()
    expect(page.locator("#failed-part")).to_be_hidden()
    expect(page.get_by_role("button", name="Retry failed items")).to_be_hidden()
    expect(page.locator("#facts")).to_contain_text("3 of 3 finished (3 done)")


def test_running_review_is_cancelled(services, review, open_tab):
    job = review("holds", "held.txt", "free.txt")
    page = open_tab(f"/reviews/{job.id}").page
    try:
        expect(page.locator("#findings article")).to_have_count(1)
        page.get_by_role("button", name="Cancel review").click()
        expect(page.locator("#facts")).to_contain_text("cancelled")
        expect(page.get_by_role("button", name="Cancel review")).to_be_hidden()
    finally:
        (services.folder / "gate").touch()
    assert job.progress().state == "cancelled"
