"""The HTML report in a browser: filters and groups without scripts, accessible in each colour scheme."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from review_tools.runs import KEY, UNUSED, a_reported_run
from review_tools.values import a_finding, a_result, a_run
from servers.browser import own_browser, own_tab
from symposia.models.severity import Severity
from symposia.reviews.comparing import compare_run
from symposia.reviews.reports.formats import HTML, render

pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]

LOW = a_finding(path="b.py", line=4, rule="E501", severity=Severity.LOW, agents=("model",), message="Long")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with own_browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    run = a_run(a_result(UNUSED, KEY), a_result(LOW, path="b.py"))
    report = tmp_path / "review.html"
    report.write_text(render(compare_run(run, previous=[UNUSED]), HTML))
    with own_tab(browser, f"file://{tmp_path}", java_script_enabled=False) as tab:
        tab.page.goto(report.as_uri())
        yield tab.page
        assert tab.errors == []


def shown(page: Page) -> list[str]:
    """Visible headings and rules of findings, from top to bottom."""
    found = page.locator(".list > :visible")
    parts = [(it.bounding_box()["y"], it) for it in found.all()]
    order = [it for _, it in sorted(parts, key=lambda pair: pair[0])]
    return [
        it.locator("code").nth(1).inner_text() if it.locator("h4").count() else it.inner_text()
        for it in order
    ]


@pytest.mark.parametrize(
    ("label", "option", "expected"),
    [
        ("Severity", "high", ["app.py (2)", "S105"]),
        ("Severity", "medium or higher", ["app.py (2)", "F401", "S105"]),
        ("Status", "still open", ["app.py (2)", "F401"]),
        ("Reviewer", "model", ["b.py (1)", "E501"]),
        ("Path", "b.py", ["b.py (1)", "E501"]),
        ("Group by", "rule", ["S105 (1)", "S105", "F401 (1)", "F401", "E501 (1)", "E501"]),
        ("Group by", "severity", ["high (1)", "S105", "medium (1)", "F401", "low (1)", "E501"]),
    ],
)
def test_findings_are_filtered_and_grouped(page: Page, label: str, option: str, expected: list[str]) -> None:
    everything = ["app.py (2)", "F401", "S105", "b.py (1)", "E501"]
    assert shown(page) == everything
    page.get_by_label(label).select_option(option)
    expect(page.locator(".list")).to_be_visible()
    assert shown(page) == expected
    page.get_by_role("button", name="Show all").click()
    assert shown(page) == everything


def test_many_findings_are_one_line_each_until_opened(browser: Browser, tmp_path: Path) -> None:
    findings = [
        a_finding(line=number, rule=f"R{number}", message="Long words " * 40) for number in range(1, 143)
    ]
    (tmp_path / "review.html").write_text(render(compare_run(a_run(a_result(*findings))), HTML))
    with own_tab(browser, f"file://{tmp_path}", java_script_enabled=False) as tab:
        tab.page.goto((tmp_path / "review.html").as_uri())
        height = tab.page.locator(".list").bounding_box()["height"]
        assert height < 142 * 45
        first = tab.page.locator(".finding").first
        first.locator("summary").click()
        link = first.get_by_role("link", name="link to this finding")
        expect(link).to_have_attribute("href", f"#{first.get_attribute('id')}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_report_is_accessible(browser: Browser, tmp_path: Path, scheme: str, width: int) -> None:
    run = a_reported_run().model_copy(update={"repository_url": "https://github.com/a/b"})
    # The policy would refuse the script that looks for faults.
    text = render(run, HTML).replace("Content-Security-Policy", "no-policy")
    (tmp_path / "review.html").write_text(text)
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with own_tab(browser, f"file://{tmp_path}", **options) as tab:
        tab.page.goto((tmp_path / "review.html").as_uri())
        assert tab.serious_findings() == []
        assert tab.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
