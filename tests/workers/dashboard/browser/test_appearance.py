"""The look of the pages: accessible, on a phone, and in both themes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from symposia.models.sessions.stop_conditions import MaxTurns

#: A browser and all services share the cores.
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

LOADING = re.compile("Connecting|Loading")
PAGES = {
    "collabs": "/collabs",
    "session": "/collabs/{id}",
    "inbox": "/inbox",
    "schedules": "/schedules",
    "reviews": "/reviews",
}
LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}


@pytest.fixture
def waiting(stage):
    """A session that waits for an answer."""
    stage.title = "A line above the door of the library"
    job = stage.submit(
        "round_robin",
        {"Cleo": "say", "Ben": "model", "Reviewer": "human"},
        stop=MaxTurns(6),
        messages=["Write **one line** for the door of the library:\n\n- short\n- warm"],
    )
    yield job
    job.cancel()


@pytest.fixture
def open_page(open_tab, waiting):
    """Opens a page by name in one of `LOOKS`, loaded."""

    def open_page(name: str, look: str):
        tab = open_tab(PAGES[name].format(id=waiting.id), **LOOKS[look])
        expect(tab.page.locator("#live-status")).not_to_have_text(LOADING)
        if name == "session":
            expect(tab.page.locator("#questions")).to_contain_text("Turn 3")
        return tab

    return open_page


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_serious_accessibility_finding(open_page, name, look):
    assert open_page(name, look).serious_findings() == []


@pytest.mark.parametrize("name", PAGES)
def test_page_fits_a_phone(open_page, name):
    page = open_page(name, "phone").page
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["collabs", "session"])
def test_screenshot_is_taken(open_page, pictures, name, look):
    path = pictures / f"{name}-{look}.png"
    open_page(name, look).page.screenshot(path=path, full_page=True)
    assert path.stat().st_size > 10_000
