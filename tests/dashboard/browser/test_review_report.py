"""The HTML report of a review by two programs and a scripted reviewer, as a picture for the documentation."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from live import result_of
from servers.browser import own_tab
from stub_agents.shop import FILES
from symposia.reviews.reports.formats import HTML, render

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

PANEL = """
[house]
mode = "orchestrated"
purpose = "Find what is wrong with this code."
stop = { max_rounds = 2 }

[[house.seats]]
name = "judge"
agent = "judge"
role = "orchestrator"

[[house.seats]]
name = "reviewer"
agent = "shop_reviewer"

[[house.tools]]
agent = "ruff"
files = ["*.py"]

[[house.tools]]
agent = "bandit"
files = ["*.py"]
"""


@pytest.fixture
def report(services, browser, tmp_path):
    """The page of the report."""
    for path, text in FILES.items():
        (file := tmp_path / "code" / path).parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (panels := tmp_path / "panels.toml").write_text(PANEL)
    job = services.client.review(tmp_path / "code", panel="house", root_name="shop", panels_file=panels)
    result_of(job, timeout_s=60)
    (page := tmp_path / "review.html").write_text(render(job.run(), HTML))
    with own_tab(browser, f"file://{tmp_path}", viewport={"width": 1000, "height": 800}) as tab:
        tab.page.goto(page.as_uri())
        yield tab.page
        assert tab.errors == []


def test_screenshot_of_a_report_is_taken(report: Page, pictures) -> None:
    findings = report.locator(".list .finding")
    assert [it.locator("code").nth(1).inner_text() for it in findings.all()] == [
        "sql-injection",
        "off-by-one",
    ]
    for scheme in ("light", "dark"):
        report.emulate_media(color_scheme=scheme)
        report.screenshot(path=pictures / f"review-{scheme}.png", full_page=True)
        assert (pictures / f"review-{scheme}.png").stat().st_size > 10_000
