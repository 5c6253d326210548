"""What a person sees in a browser while sessions run."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from live import result_of
from servers.model_stub import completion
from symposia.models.sessions.stop_conditions import MaxTurns

#: A browser and all services share the cores.
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

#: Agents and options of a session in each mode. The agent `gated` speaks once the gate is open.
MODES: dict[str, dict[str, Any]] = {
    "round_robin": {"agents": {"ann": "gated", "bob": "say"}, "stop": MaxTurns(2)},
    "pair": {"agents": {"ann": "gated", "bob": "navigator"}},
    "broadcast": {
        "agents": {"ann": "gated", "bob": "gated", "cyd": "say"},
        "options": {"aggregator": "cyd"},
        "stop": MaxTurns(3),
    },
    "orchestrated": {
        "agents": {"orchestrator": "lead", "coder": "gated", "tester": "say", "writer": "say"},
    },
    "swarm": {
        "agents": {"ann": "gated", "bob": "gated"},
        "options": {"items": [{"text": "paint"}, {"text": "build"}]},
    },
}
#: The colour of failures in the light theme of Flower.
RED = "rgb(180, 35, 24)"
#: The participant who waits for the gate.
SPEAKERS = {"orchestrated": "coder"}


def row(page: Page, gated_sessions):
    return page.locator("#rows tr", has_text=gated_sessions.title)


@pytest.mark.parametrize("mode", MODES)
def test_session_appears_moves_and_is_archived(services, gated_sessions, open_tab, mode):
    session_list = open_tab("/collabs").page
    expect(session_list.locator("#health")).to_contain_text("Live")
    job = gated_sessions.submit(mode, **MODES[mode])
    expect(row(session_list, gated_sessions)).to_be_visible()
    expect(row(session_list, gated_sessions)).to_contain_text(SPEAKERS.get(mode, "ann"))

    row(session_list, gated_sessions).get_by_role("link", name=gated_sessions.title).click()
    page = session_list
    expect(page.locator("#people")).to_contain_text("speaking")
    expect(page.locator("#open")).to_contain_text(SPEAKERS.get(mode, "ann"))
    gated_sessions.open_gate()
    expect(page.locator("#status")).to_have_text("completed")
    expect(page.locator("#turns .said").last).to_be_visible()
    turns = result_of(job, timeout_s=60).turns
    expect(page.locator("#turns")).to_contain_text(f"{SPEAKERS.get(mode, 'ann')} speaks in turn")
    assert page.locator("#turns > .turn").count() >= turns

    page.goto("/collabs")
    expect(row(page, gated_sessions)).to_contain_text("completed")
    services.expire(job)
    page.goto(f"/collabs/{job.id}")
    expect(page.locator("#health")).to_contain_text("Ended")
    expect(page.locator("#turns")).to_contain_text(f"{SPEAKERS.get(mode, 'ann')} speaks in turn")


def test_text_of_a_model_is_shown_while_it_is_produced(services, gated_sessions, open_tab):
    pause = threading.Event()
    words = "one two three four five"
    services.model.answers(completion(words, pause=pause, pause_after=3))
    agents = {"bob": "gated", "ann": "model"}
    job = gated_sessions.submit(
        "round_robin",
        agents,
        stop=MaxTurns(2),
        parameters={"gate": str(gated_sessions.gate), "gate_turn": 1},
    )
    page = open_tab(f"/collabs/{job.id}").page
    try:
        expect(page.locator("#health")).to_contain_text("Live")
        gated_sessions.open_gate()
        expect(page.locator("#turn-2")).to_contain_text("one two three")
        expect(page.locator("#turn-2")).to_contain_text("writes")
    finally:
        pause.set()
    expect(page.locator("#turn-2 .said")).to_have_text(words)
    expect(page.locator("#turn-2")).not_to_contain_text("writes")


def test_session_is_suspended_and_resumed_by_keyboard(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page
    expect(page.locator("#session-notice")).to_contain_text("ann")
    page.get_by_role("button", name="Suspend").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("suspended")
    expect(page.locator("#action-status")).to_have_text("suspend: done")
    gated_sessions.open_gate()
    page.get_by_role("button", name="Resume").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("completed")


def test_session_is_cancelled_after_a_confirmation(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page
    page.get_by_role("button", name="Cancel").click()
    page.keyboard.press("Escape")
    expect(page.locator("#status")).to_have_text("active")
    page.get_by_role("button", name="Cancel").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("no longer needed")
    dialog.get_by_role("button").filter(
        has_text=re.compile("cancel the session|cancel session", re.IGNORECASE)
    ).click()
    expect(page.locator("#status")).to_have_text("cancelled")
    expect(page.locator("#session-notice")).to_contain_text("no longer needed")


def test_question_is_answered_in_the_page(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "human", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page
    page.locator("#questions textarea").fill("Paint it **green**.")
    page.get_by_role("button", name="Answer").click()
    expect(page.locator("#status")).to_have_text("completed")
    expect(page.locator("#turns .said strong")).to_have_text("green")


def test_message_is_posted(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page
    page.get_by_label("Message to the session").fill("Mind the door.")
    page.get_by_role("button", name="Post").click()
    expect(page.locator("#action-status")).to_have_text("post: done")
    gated_sessions.open_gate()
    expect(page.locator("#turns")).to_contain_text("Mind the door.")


def test_failed_turn_is_red_in_all_lists(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "blind", "bob": "say"}, stop=MaxTurns(2))
    result_of(job, timeout_s=60)
    page = open_tab(f"/collabs/{job.id}", color_scheme="light").page
    expect(page.locator("#who-ann .lane .bad").first).to_have_css("fill", RED)
    expect(page.locator("#turns")).to_contain_text("failed")
    page.goto("/collabs")
    expect(row(page, gated_sessions)).to_contain_text("cannot see")
    page.goto("/tasks")
    failed = page.locator("#tasks-table tr", has_text=job.id[:8]).filter(has_text="FAILURE")
    expect(failed.first).to_be_visible()
