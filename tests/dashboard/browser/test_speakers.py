"""The current speakers of a session, in the list and on its page, as they change."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from live import until
from symposia.jobs.collab import CollabJob
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


def listed(page: Page, job: CollabJob) -> set[str]:
    """The speakers in the row of a session in the list."""
    return set(page.locator(f"#row-{job.id} .c-now span").first.inner_text().split(", "))


def shown(page: Page) -> set[str]:
    """The speakers in the table of participants on the page of a session."""
    rows = page.locator("#people tr").all_inner_texts()
    return {it.split()[0] for it in rows if "speaking" in it}


@pytest.fixture
def session_list(open_tab) -> Page:
    """The list of sessions, live."""
    page = open_tab("/collabs").page
    expect(page.locator("#health")).to_contain_text("Live")
    return page


@pytest.mark.parametrize("mode", MODES)
def test_current_speaker_moves_in_list_and_page(gated_sessions, open_tab, session_list, mode):
    job = submit(gated_sessions, mode)
    page = open_tab(f"/collabs/{job.id}").page
    expect(session_list.locator(f"#row-{job.id}")).to_be_visible()
    for names, turn in MODES[mode][2]:
        expected = set(names.split())
        until(lambda: listed(session_list, job) == expected, what=f"{names} in turn {turn}, in the list")  # noqa: B023
        until(lambda: shown(page) == expected, what=f"{names} in turn {turn}, on the page")  # noqa: B023
        gated_sessions.step(turn)
    expect(page.locator("#status")).to_have_text("completed")
    expect(session_list.locator(f"#row-{job.id}")).to_contain_text("completed")
    assert shown(page) == set()


#: Waits until some changes of the page were shown; how many milliseconds that took.
AFTER_CHANGES = """(count) => new Promise((resolve) => {
  const began = performance.now();
  document.addEventListener("fragments", () => --count || resolve(performance.now() - began));
})"""


def test_seven_speakers_leave_the_browser_idle(gated_sessions, open_tab):
    names = [f"a{number}" for number in range(1, 8)]
    job = gated_sessions.submit(
        "broadcast",
        dict.fromkeys(names, "talks"),
        parameters={"gate": str(gated_sessions.gate), "quiet": 665},
        stop=MaxTurns(672),
    )
    until(lambda: job.state().closed == 664, timeout_s=120, what="664 turns are closed")
    page = open_tab(f"/collabs/{job.id}").page
    expect(page.locator("#turn-665")).to_contain_text("speaking")
    gated_sessions.step(665)
    expect(page.locator("#turns > .turn.live .said")).to_have_count(7)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})  # other processes do not count

    def busy_s() -> float:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return next(it["value"] for it in metrics if it["name"] == "TaskDuration")

    before = busy_s()
    passed_s = page.evaluate(AFTER_CHANGES, 15) / 1000
    assert (busy_s() - before) / passed_s < 0.1
