"""Hostile texts of sessions are shown as text, and no page obeys them."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from playwright.sync_api import expect

from live import result_of, until
from servers.model_stub import completion
from stub_agents.hostile import MARKUP, TEXT
from symposia.dashboard.views.visible import make_visible
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.text.redact import clean_text

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

SHOWN = make_visible(TEXT)
#: Sessions whose pages have a card of their own: the card and its texts.
CARDS: dict[str, dict[str, Any]] = {
    "board": {"mode": "swarm", "agents": {"ann": "say"}, "options": {"items": [{"text": TEXT}]}},
    "decisions": {"mode": "orchestrated", "agents": {"orchestrator": "hostile_lead", "coder": "say"}},
    "tensions": {
        "mode": "round_robin",
        "agents": {"ann": "hostile_expert", "bob": "hostile_expert"},
        "protocol": "alignment",
    },
    "memory": {"mode": "round_robin", "agents": {"ann": "hostile_learn"}, "user_id": 7, "room_id": "room"},
}


@pytest.fixture
def submit(services):
    """Submits a session whose title, purpose and names are hostile; it has ended after the test."""
    jobs: list[CollabJob] = []

    def submit(mode: str, agents: dict[str, str], **options: Any):
        role = options.pop("role", None)
        people = [
            Participant(
                participant_id=it,
                display_name=f"{it} {TEXT}",
                role_id=role,
                kind="human" if it == "ben" else "agent",
            )
            for it in (*agents, *options.pop("people", ()))
        ]
        collab = Collab(title=TEXT, purpose=TEXT, mode=mode, participants=people)
        options.setdefault("stop", MaxTurns(4))
        jobs.append(services.client.submit(collab, agents=agents, **options))
        return jobs[-1]

    yield submit
    for job in jobs:
        if not job.state().is_final:
            job.cancel()


def test_texts_of_a_failed_session_stay_text(submit, open_tab):
    agents = {"ann": "hostile_say", "bob": "hostile_fail"}
    job = submit("round_robin", agents, role=f"role {TEXT}", messages=[TEXT])
    result_of(job, timeout_s=60)
    tab = open_tab(f"/collabs/{job.id}")
    page = tab.page
    for name in ("title", "summary", "people", "turns"):
        expect(page.locator(f"#{name}")).to_contain_text(SHOWN)
    expect(page.locator("#session-notice")).to_contain_text(MARKUP)
    expect(page.locator("#turns .tool.bad").first).to_contain_text(MARKUP)
    expect(page.locator("#turns td").first).to_have_text(make_visible(clean_text(TEXT)))
    assert "[b](data:text/html" in page.locator("#turns").inner_text()
    links = page.locator("#turns .said a").evaluate_all("links => links.map((it) => it.href)")
    assert set(links) == {"http://evil.example/picture.png", "http://evil.example/"}
    page.get_by_role("link", name="Show the newest").click()
    expect(page.locator("#events")).to_contain_text("onerror")
    assert tab.unsafe_parts() == []

    page.goto("/collabs")
    row = page.locator(f"#row-{job.id}")
    expect(row.get_by_role("link")).to_have_text(SHOWN)
    expect(row.locator(".c-why")).to_contain_text(MARKUP)
    assert tab.unsafe_parts() == []
    page.get_by_label("Search").fill("<img src=x")
    page.get_by_label("Search").press("Enter")
    expect(page.get_by_label("Search")).to_have_value("<img src=x")
    expect(row).to_be_visible()


def test_live_output_stays_text(services, gated_sessions, open_tab):
    pause = threading.Event()
    answer = completion(f"{TEXT} the end", pause=pause, pause_after=len(TEXT.split(" ")))
    services.model.answers(answer)
    agents, parameters = {"bob": "gated", "ann": "model"}, {"gate": str(gated_sessions.gate), "gate_turn": 1}
    job = gated_sessions.submit("round_robin", agents, stop=MaxTurns(2), parameters=parameters)
    tab = open_tab(f"/collabs/{job.id}")
    page = tab.page
    try:
        expect(page.locator("#health")).to_contain_text("Live")
        gated_sessions.open_gate()
        expect(page.locator("#turn-2.live .said")).to_contain_text(MARKUP)
        assert tab.unsafe_parts() == []
    finally:
        pause.set()
    expect(page.locator("#turns")).to_contain_text("the end")
    expect(page.locator("#turns .live")).to_have_count(0)
    assert tab.unsafe_parts() == []


@pytest.mark.parametrize("card", CARDS)
def test_texts_of_a_card_stay_text(submit, open_tab, card):
    job = submit(**CARDS[card])
    result_of(job, timeout_s=60)
    tab = open_tab(f"/collabs/{job.id}")
    page = tab.page
    # Messages keep no characters that change the direction.
    expected = f"{MARKUP} gnp" if card == "tensions" else SHOWN
    expect(page.locator(f"#{card}")).to_contain_text(expected)
    assert tab.unsafe_parts() == []


def test_hostile_choice_is_answered_on_both_pages(submit, open_tab):
    options = {"people": ["ben"], "stop": MaxTurns(1)}
    jobs = [submit("round_robin", {"ann": "hostile_ask"}, **options) for _ in range(2)]
    for job in jobs:
        until(job.pending, what="ben is asked")
    tab = open_tab(f"/collabs/{jobs[0].id}")
    page = tab.page
    choice = page.locator("#questions").get_by_label(SHOWN).first
    choice.check()
    assert tab.unsafe_parts() == []
    page.get_by_role("button", name="Answer").click()
    expect(page.locator("#action-status")).to_have_text("reply: done")

    page.goto("/inbox")
    card = page.locator(".question", has=page.locator(f"a[href$='{jobs[1].id}']"))
    expect(card.get_by_role("link")).to_have_text(SHOWN)
    expect(card.locator(".said")).to_have_text(SHOWN)
    assert tab.unsafe_parts() == []
    card.get_by_role("radio").first.check()
    card.get_by_role("button").first.click()
    expect(card).to_have_count(0)
    for job in jobs:
        result = result_of(job)
        assert {it.content for it in result.dialog.messages} == {clean_text(TEXT)}
