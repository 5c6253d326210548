"""The current speakers of a session, in the list and on its page, as they change."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from live import until
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

#: Options of a session in each mode, its participants, and its steps: who speaks, and which turn ends then.
MODES: dict[str, tuple[dict[str, Any], str, list[tuple[str, int]]]] = {
    "round_robin": ({"stop": MaxTurns(3)}, "ann bob", [("ann", 1), ("bob", 2), ("ann", 3)]),
    "pair": ({}, "ann bob", [("ann", 1), ("bob", 2), ("ann", 3), ("bob", 4)]),
    "broadcast": (
        {"options": {"aggregator": "cyd"}, "stop": MaxTurns(3)},
        "ann bob cyd",
        [("ann bob", 1), ("bob", 2), ("cyd", 3)],
    ),
    "orchestrated": (
        {},
        "orchestrator coder tester writer",
        [
            ("orchestrator", 1),
            ("coder", 2),
            ("orchestrator", 3),
            ("tester writer", 4),
            ("writer", 5),
            ("orchestrator", 6),
        ],
    ),
    "swarm": (
        {"options": {"items": [{"text": "plan"}]}},
        "ann bob tester",
        [("ann", 1), ("bob tester", 2), ("tester", 3)],
    ),
}


def submit(gated_sessions, mode: str):
    options, names, _ = MODES[mode]
    return gated_sessions.submit(mode, dict.fromkeys(names.split(), "stepped"), **options)


def speakers(text: Locator) -> set[str]:
    return set(re.findall(r"(\w+) \(speaking\)", text.inner_text()))


@pytest.fixture
def session_list(open_tab) -> Page:
    """The list of sessions, live."""
    page = open_tab("/collabs").page
    expect(page.locator("#live-status")).to_have_text("Live")
    return page


@pytest.mark.parametrize("mode", MODES)
def test_current_speaker_moves_in_list_and_page(gated_sessions, open_tab, session_list, mode):
    job = submit(gated_sessions, mode)
    page = open_tab(f"/collabs/{job.id}").page
    locators = {"list": session_list.locator(f"#row-{job.id}"), "page": page.locator("#now")}
    for names, turn in MODES[mode][2]:
        for name, locator in locators.items():
            for speaker in names.split():
                expect(locator).to_contain_text(f"{speaker} (speaking)")
            until(
                lambda locator=locator, names=names: speakers(locator) == set(names.split()),
                what=f"{names} speaking in turn {turn}, in the {name}",
            )
        gated_sessions.step(turn)
    expect(page.locator("#status")).to_have_text("completed")
    expect(locators["list"]).to_contain_text("completed")
    assert speakers(locators["list"]) == speakers(locators["page"]) == set()
