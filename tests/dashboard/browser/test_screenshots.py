"""Screenshots of the list and of a session, in both themes and on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from symposia.models.sessions.stop_conditions import MaxTurns

#: A browser and all services share the cores.
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

PAGES = {"collabs": "/collabs", "session": "/collabs/{id}"}
LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}


@pytest.fixture
def waiting(gated_sessions):
    """A session that waits for an answer."""
    gated_sessions.title = "A line above the door of the library"
    job = gated_sessions.submit(
        "round_robin",
        {"Cleo": "say", "Ben": "model", "Reviewer": "human"},
        stop=MaxTurns(6),
        messages=["Write **one line** for the door of the library:\n\n- short\n- warm"],
    )
    yield job
    job.cancel()


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_screenshot_is_taken(open_tab, waiting, pictures, name, look):
    page = open_tab(PAGES[name].format(id=waiting.id), **LOOKS[look]).page
    expect(page.locator("#health")).to_contain_text("Live")
    if name == "session":
        expect(page.locator("#questions")).to_contain_text("Turn 3")
    path = pictures / f"{name}-{look}.png"
    page.screenshot(path=path, full_page=True)
    assert path.stat().st_size > 10_000
