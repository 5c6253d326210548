"""Pages in each state of their content: accessible in both themes and on a phone."""

from __future__ import annotations

import re
from typing import Any, Literal
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from live import result_of, until
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

#: Colours and width of the window.
LOOKS: dict[str, tuple[Literal["light", "dark"], int]] = {
    "light": ("light", 1280),
    "dark": ("dark", 1280),
    "phone": ("light", 390),
}
#: Options of a session by its state, and what its page shows then.
STATES: dict[str, dict[str, Any]] = {
    "parked": {"mode": "round_robin", "agents": {"ann": "hostile_ask"}, "people": ["ben"]},
    "suspended": {
        "mode": "swarm",
        "agents": {"ann": "gated", "bob": "gated"},
        "options": {"items": [{"text": "paint"}, {"text": "build"}, {"text": "sell"}]},
    },
    "failed": {"mode": "round_robin", "agents": {"ann": "say", "bob": "blind"}},
    "ended": {
        "mode": "orchestrated",
        "agents": {"orchestrator": "hostile_lead", "coder": "hostile_learn"},
        "user_id": 7,
        "room_id": "room",
    },
    "archived": {
        "mode": "round_robin",
        "agents": {"ann": "hostile_expert", "bob": "hostile_say"},
        "protocol": "alignment",
    },
}
STATUSES = {"parked": "needs answer", "suspended": "suspended", "failed": "failed"}
#: Sessions that wait for a gate: one more than the worker runs side by side.
BUSY = 9


def submit(services, title: str, *, mode: str, agents: dict[str, str], people=(), **options: Any):
    everyone = [Participant(participant_id=it) for it in agents]
    everyone += [Participant(participant_id=it, kind="human") for it in people]
    collab = Collab(title=f"Session {title}", purpose="see it", mode=mode, participants=everyone)
    return services.client.submit(collab, agents=agents, stop=MaxTurns(4), **options)


@pytest.fixture(scope="module")
def sessions(services):
    """A session in each state, by the state."""
    gate = services.folder / "suspended-gate"
    STATES["suspended"]["parameters"] = {"gate": str(gate)}
    jobs = {name: submit(services, name, **options) for name, options in STATES.items()}
    for name in ("failed", "ended", "archived"):
        result_of(jobs[name], timeout_s=60)
    until(jobs["parked"].pending, what="ben is asked")
    until(jobs["suspended"].state().open_turns, what="turns are open")
    jobs["suspended"].suspend()
    gate.touch()
    services.expire(jobs["archived"])
    yield jobs
    for name in ("parked", "suspended"):
        jobs[name].cancel()


@pytest.fixture
def busy(services):
    """An active session and a stuck one, which waits for a worker; both have ended after the test."""
    gate = services.folder / f"gate-{uuid4().hex[:8]}"
    parameters = {"gate": str(gate)}
    agents = {"ann": "gated", "bob": "gated", "cyd": "gated"}
    jobs = [
        submit(services, f"{number}", mode="round_robin", agents=agents, parameters=parameters)
        for number in range(BUSY)
    ]
    until(lambda: sum(is_speaking(job) for job in jobs) == BUSY - 1, what="all but one speak")
    yield {
        "active": next(job for job in jobs if is_speaking(job)),
        "stuck": next(job for job in jobs if not is_speaking(job)),
    }
    gate.touch()
    for job in jobs:
        result_of(job, timeout_s=60)


def is_speaking(job: CollabJob) -> bool:
    return any(it.status == "speaking" for it in job.state().open_turns())


@pytest.fixture
def findings(open_tab):
    """Serious findings of a page in each look; `prepare` brings a loaded page into the state to be judged."""

    def findings(path: str, prepare) -> dict[str, list[str]]:
        # Without motion: the contrast of a button changes while its colours do.
        tab = open_tab(path, reduced_motion="reduce")
        prepare(tab.page)
        found = {}
        for look, (colours, width) in LOOKS.items():
            tab.page.emulate_media(color_scheme=colours, reduced_motion="reduce")
            tab.page.set_viewport_size({"width": width, "height": 844})
            found[look] = tab.serious_findings()
            excess = tab.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            if excess > 0:
                found[look].append(f"{excess} pixels too wide")
        tab.page.close()
        return {look: it for look, it in found.items() if it}

    return findings


def show_events(page: Page) -> None:
    page.get_by_role("link", name="Show the newest").click()
    expect(page.locator("#events tr").first).to_be_visible()


@pytest.mark.parametrize("state", STATES)
def test_session_page_is_accessible(sessions, findings, state):
    def prepare(page: Page) -> None:
        expect(page.locator("#status")).to_have_text(STATUSES.get(state, "completed"))
        if state == "archived":
            expect(page.locator("#health")).to_contain_text("Ended")
        show_events(page)

    assert findings(f"/collabs/{sessions[state].id}", prepare) == {}


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ("active", "ann speaks"),
        ("stuck", re.compile("The next step waits|waits for a free process|being planned")),
    ],
)
def test_page_of_a_running_session_is_accessible(busy, findings, state, shown):
    def prepare(page: Page) -> None:
        expect(page.locator("#session")).to_contain_text(shown)
        show_events(page)

    assert findings(f"/collabs/{busy[state].id}", prepare) == {}


def test_list_of_all_states_is_accessible(sessions, busy, findings):
    def prepare(page: Page) -> None:
        for job in [*sessions.values(), *busy.values()]:
            expect(page.locator(f"#row-{job.id}")).to_be_visible()
        stuck = page.locator(f"#row-{busy['stuck'].id}")
        expect(stuck).to_contain_text("no worker takes anything from the queue")
        page.locator("#pick-all").check()
        expect(page.get_by_role("region", name="Selected sessions")).to_be_visible()

    assert findings("/collabs", prepare) == {}


@pytest.mark.parametrize(
    ("query", "part"), [("group=agent", "#groups"), ("q=none&since=24h", "#empty"), ("mode=pair", "#keys")]
)
def test_parts_of_the_list_are_accessible(sessions, findings, query, part):
    def prepare(page: Page) -> None:
        if part == "#keys":
            expect(page.locator("[data-source]")).to_be_visible()
            page.keyboard.press("?")
        expect(page.locator(part)).to_be_visible()

    assert findings(f"/collabs?{query}", prepare) == {}


def test_open_dialog_is_accessible(sessions, findings):
    def prepare(page: Page) -> None:
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog")).to_be_visible()

    assert findings(f"/collabs/{sessions['parked'].id}", prepare) == {}


def test_inbox_is_accessible(sessions, findings):
    def prepare(page: Page) -> None:
        expect(page.locator(f"#questions a[href$='{sessions['parked'].id}']")).to_be_visible()

    assert findings("/inbox", prepare) == {}


def test_schedules_are_accessible(services, schedule, findings):
    schedules = services.client.schedules
    for name, job in (("paused", "talk"), ("failing", "failing")):
        schedule(name, job)
    schedules.pause("paused")
    schedules.run_now("failing")
    until(lambda: schedules.get("failing").last, what="the run has ended")

    def prepare(page: Page) -> None:
        page.get_by_role("link", name="History of failing").click()
        expect(page.get_by_role("list", name="Runs of failing, newest first")).to_contain_text("failed")

    assert findings("/schedules", prepare) == {}


def test_report_of_a_review_is_accessible(review, findings):
    job = review("hostile_review", "good.txt", "bad.txt")
    result_of(job, timeout_s=60)

    def prepare(page: Page) -> None:
        # The report runs no script, so the document is judged in a page of its own.
        report = page.request.get(f"/reviews/{job.id}/report").text()
        page.goto("about:blank")
        page.set_content(report)
        expect(page.locator("body")).to_contain_text("onerror")

    assert findings(f"/reviews/{job.id}", prepare) == {}
