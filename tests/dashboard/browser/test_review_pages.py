"""Reviews in a browser: the list, the page of a run with its findings, failures and trend, retry and cancel."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from live import result_of
from servers.layout import layout_faults
from stub_agents.hostile import MARKUP
from stub_agents.shop import FILES
from symposia.dashboard.views.visible import make_visible

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

HOSTILE_NAME = "<img src=x onerror=pwned=1>.txt"
PANEL = """
[house]
mode = "orchestrated"
purpose = "Find what is wrong with this code."
stop = { max_rounds = 2 }
policy = { attempts = 1, backoff_s = 0, then = "skip" }
seats = [{ name = "judge", agent = "judge", role = "orchestrator" }, { name = "reviewer", agent = "shop_reviewer" }]
tools = [{ agent = "ruff", files = ["*.py"] }, { agent = "bandit", files = ["*.py"] }]
"""
RISKY = 'import os\nimport subprocess\n\nsubprocess.call("ls " + "{}", shell=True)\n'
#: Files that the scripted reviewer does not know, so that it fails; the programs find defects in them.
UNKNOWN = {
    "shop/" + "a_folder_with_a_long_name/" * 5 + "unbroken" * 15 + ".py": RISKY.format("long" * 40),
    "shop/报表/每日销售统计与库存核对_最终版本_v2.py": RISKY.format("每日销售统计"),
    "متجر/تقرير المبيعات اليومية.py": RISKY.format("تقرير"),
}


@pytest.fixture(scope="module")
def runs(services, tmp_path_factory):
    """Two runs of one project; between them a defect was repaired, and files with foreign names were added."""
    folder = tmp_path_factory.mktemp("shop")
    (panels := folder / "panels.toml").write_text(PANEL)

    def review(files: dict[str, str]):
        for path, text in files.items():
            (file := folder / "code" / path).parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        job = services.client.review(
            folder / "code", panel="house", root_name="bookshop", panels_file=panels, everything=True
        )
        result_of(job, timeout_s=120)
        return job

    first = review({**FILES, "shop/receipts.py": RISKY.format("a")})
    (folder / "code" / "empty.bin").write_bytes(b"\0" * 9)
    return first, review({**UNKNOWN, **FILES})


def finding(page: Page, rule: str):
    return page.locator("article", has=page.locator(f"header code:text-is('{rule}')"))


def test_list_shows_severities_trend_progress_and_failures(runs, open_tab):
    page = open_tab("/reviews").page
    row = page.locator(f"#run-{runs[1].id}")
    expect(row).to_contain_text("bookshop by house")
    expect(row.locator(".state").first).to_have_text("partial")
    expect(row).to_contain_text(re.compile(r"\d+ new.*\d+ gone.*\d+ still open"))
    expect(row).to_contain_text("5 of 5 items")
    expect(row.locator(".error-text")).to_contain_text("KeyError")
    expect(row.get_by_role("link", name="3 items")).to_be_visible()
    page.get_by_label("Sort").select_option("-failed")
    page.get_by_label("Root").select_option("bookshop")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#rows tr")).to_have_count(2)
    assert [it.get_attribute("id") for it in page.locator("#rows tr").all()] == [
        f"run-{job.id}" for job in reversed(runs)
    ]
    page.get_by_role("link", name="1 completed").click()
    expect(page.locator("#rows tr")).to_have_attribute("id", f"run-{runs[0].id}")
    page.go_back()
    expect(page.locator("#rows tr")).to_have_count(2)
    row.get_by_role("link", name=re.compile("high")).click()
    expect(page.locator("#numbers [aria-current]")).to_contain_text("high")


def test_run_shows_findings_with_code_sessions_and_failures(runs, open_tab):
    job = runs[1]
    page = open_tab(f"/reviews/{job.id}").page
    expect(page.locator("#summary .notice")).to_contain_text("2 of 5 items reviewed. 3 failed.")
    expect(page.locator("#trend .trend text")).to_have_count(2)
    expect(page.locator("#numbers a", has_text="gone").first).to_contain_text("since the run before")
    sql = finding(page, "sql-injection")
    expect(sql.locator(".hit")).to_have_text(re.compile("^8 .*SELECT id, total"))
    expect(sql.locator(".tag")).to_have_text("still open")
    expect(page.locator("#failures tbody tr")).to_have_count(3)
    expect(page.locator("#failures")).to_contain_text("reviewer: KeyError")
    page.locator("#others summary", has_text="skipped").click()
    expect(page.locator("#others")).to_contain_text("empty.bin")

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sql.get_by_role("button", name="Copy place").click()
    expect(sql.get_by_role("button", name="copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "shop/orders.py:8"
    page.get_by_role("link", name="gone", exact=False).click()
    expect(page.locator("#groups .file")).to_have_count(1)
    expect(page.locator("#groups .file > summary")).to_contain_text("receipts.py")
    page.goto(f"/reviews/{job.id}?group=rule&q=orders&severity=high,dire")
    expect(page.locator(".notice.warn", has_text="dire")).to_be_visible()
    expect(page.locator("#groups .file > summary code").first).to_have_text("sql-injection")

    finding(page, "sql-injection").get_by_role("link", name="Session").click()
    expect(page.locator("#earlier")).to_contain_text("contain")
    expect(page.locator("#turns")).to_contain_text("sql-injection")


def test_link_to_a_finding_opens_its_file(runs, open_tab):
    page = open_tab(f"/reviews/{runs[1].id}").page
    medium = finding(page, "off-by-one")
    anchor = medium.get_attribute("id")
    page.goto("/reviews")
    page.goto(f"/reviews/{runs[1].id}#{anchor}")
    expect(page.locator(f"#{anchor}")).to_be_in_viewport()


def test_pages_work_without_a_script(runs, open_tab):
    page = open_tab("/reviews", java_script_enabled=False).page
    page.locator(f"#run-{runs[1].id} th a").click()
    expect(finding(page, "sql-injection").locator(".hit")).to_be_visible()
    page.get_by_label("Severity", exact=False).first.select_option(label="high and worse")
    page.get_by_role("button", name="Apply").click()
    expect(finding(page, "sql-injection")).to_be_visible()
    expect(finding(page, "off-by-one")).to_have_count(0)


@pytest.mark.parametrize("path", ["/reviews", "/reviews/{}"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_at_any_width_and_are_accessible(runs, open_tab, pictures, path, scheme):
    tab = open_tab(path.format(runs[1].id), color_scheme=scheme, reduced_motion="reduce")
    if path != "/reviews":
        expect(tab.page.locator("#failures tbody tr")).to_have_count(3)
        tab.page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
    name = f"review{'s' if path == '/reviews' else ''}-{scheme}"
    assert layout_faults(tab.page, pictures, name) == {}
    for width in (390, 1280):
        tab.page.set_viewport_size({"width": width, "height": 844})
        assert tab.serious_findings() == []


def test_hostile_findings_are_filtered_and_failed_items_retried(services, review, open_tab):
    job = review("hostile_review", HOSTILE_NAME, "good.txt", "bad.txt", root_name=MARKUP)
    result_of(job, timeout_s=60)
    tab = open_tab("/reviews")
    page = tab.page
    row = page.locator(f"#run-{job.id}")
    expect(row).to_contain_text(MARKUP)
    assert tab.unsafe_parts() == []

    row.get_by_role("link").first.click()
    expect(page.locator("#title")).to_contain_text(MARKUP)
    findings = page.locator("#groups article")
    expect(findings).to_have_count(2)
    expect(page.locator("#groups .file", has_text=HOSTILE_NAME)).to_have_count(1)
    for part in ("header code", ".said"):
        expect(findings.first.locator(part).first).to_contain_text(f"{MARKUP} [a](javascript:pwned=1)")
    expect(page.locator("#failures")).to_contain_text(MARKUP)
    assert tab.unsafe_parts() == []

    page.get_by_role("link", name="Report", exact=True).click()
    report = page.locator("body")
    expect(report).to_contain_text(MARKUP)
    text = report.text_content()
    assert text == make_visible(text)
    assert report.locator("img, script[src], a[href^='javascript']").count() == 0
    assert report.locator("script").count() == 1, "that of the report"
    page.go_back()

    (fixed := services.folder / "fixed").touch()
    try:
        page.get_by_role("button", name="Retry failed items").click()
        expect(findings).to_have_count(3)
    finally:
        fixed.unlink()
    expect(page.locator("#failures")).to_be_hidden()
    expect(page.get_by_role("button", name="Retry failed items")).to_have_count(0)
    expect(page.locator("#summary")).to_contain_text("3 items: 3 done.")


def test_running_review_is_cancelled(services, review, open_tab):
    job = review("holds", "held.txt", "free.txt")
    page = open_tab(f"/reviews/{job.id}").page
    try:
        expect(page.locator("#groups article")).to_have_count(1)
        expect(page.locator("#summary .notice")).to_contain_text(
            "1 of 2 items reviewed. 1 item being reviewed"
        )
        page.get_by_role("button", name="Cancel review").click()
        expect(page.locator("#summary .notice")).to_contain_text("Cancelled")
        expect(page.get_by_role("button", name="Cancel review")).to_have_count(0)
    finally:
        (services.folder / "gate").touch()
    assert job.progress().state == "cancelled"
