"""The HTML report in a browser: filters and groups without scripts, a search, accessible in each colour scheme."""

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


#: What is shown of the findings, from top to bottom: headings, and rules of findings.
SHOWN = """() => [...document.querySelectorAll(".list h3, .list h4")]
  .filter((it) => it.checkVisibility()).map((it) => [it.getBoundingClientRect().y, it])
  .sort(([one], [other]) => one - other)
  .map(([, it]) => it.tagName === "H4" ? it.querySelectorAll("code")[1].textContent : it.innerText)"""


def shown(page: Page) -> list[str]:
    return page.evaluate(SHOWN)


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


def a_long_report(folder: Path) -> str:
    """A report of 142 findings in 20 files, and its address."""
    results = [
        a_result(
            *(a_finding(path=path, line=at, rule=f"R{at}", message="Long words " * 40) for at in lines),
            path=path,
        )
        for path, lines in ((f"{number}.py", range(number + 1, 143, 20)) for number in range(20))
    ]
    (folder / "review.html").write_text(render(compare_run(a_run(*results)), HTML))
    return (folder / "review.html").as_uri()


def test_long_reports_are_closed_and_open_for_a_link(browser: Browser, tmp_path: Path) -> None:
    with own_tab(browser, f"file://{tmp_path}", java_script_enabled=False) as tab:
        tab.page.goto(a_long_report(tmp_path))
        height = "document.querySelector('.list').getBoundingClientRect().height"
        assert tab.page.evaluate(height) < 20 * 45
        expect(tab.page.get_by_label("Search")).to_be_hidden()
        for group in tab.page.locator(".file").all():
            group.locator("summary").first.click()
        assert tab.page.evaluate(height) < 20 * 45 + 142 * 35
        finding = tab.page.locator(".finding").nth(70)
        finding.locator("summary").click()
        link = finding.get_by_role("link", name="link to this finding").get_attribute("href")
        tab.page.goto(f"about:blank{link}")
        tab.page.goto(f"{(tmp_path / 'review.html').as_uri()}{link}")
        expect(finding.get_by_text("What to do")).to_be_visible()


def test_findings_are_searched_and_counted(browser: Browser, tmp_path: Path) -> None:
    with own_tab(browser, f"file://{tmp_path}") as tab:
        tab.page.goto(a_long_report(tmp_path))
        count, findings = tab.page.locator("output"), tab.page.locator(".finding:visible")
        expect(count).to_have_text("142 of 142 findings")
        tab.page.get_by_label("Search").fill("3.PY r44 words")
        expect(count).to_have_text("1 of 142 findings")
        assert shown(tab.page) == ["3.py (7)", "R44"]
        tab.page.get_by_label("Path").select_option("4.py")
        expect(count).to_have_text("0 of 142 findings")
        tab.page.get_by_role("button", name="Show all").click()
        expect(count).to_have_text("142 of 142 findings")
        tab.page.get_by_role("button", name="Open or close all files").click()
        expect(findings).to_have_count(142)
        assert tab.errors == []


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
