"""The inbox and the schedules in a browser: answers with drafts; pause, resume, run and history."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from live import result_of, until
from stub_agents.hostile import MARKUP
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture
def ask(services):
    """Submits a session that waits for some people; it has ended after the test."""
    jobs = []

    def ask(title: str, **agents: str):
        people = [Participant(participant_id=it, kind="human") for it in agents]
        collab = Collab(title=title, purpose="Answer.", mode="round_robin", participants=people)
        given = {name: agent for name, agent in agents.items() if agent}
        jobs.append(services.client.submit(collab, agents=given, stop=MaxTurns(1)))
        until(jobs[-1].pending, what="a person is asked")
        return jobs[-1]

    yield ask
    for job in jobs:
        if not job.state().is_final:
            job.cancel()


def card(page, job):
    return page.locator("#questions .question", has=page.locator(f"a[href$='{job.id}']"))


def test_draft_is_kept_while_the_inbox_changes(ask, open_tab):
    first = ask("First question", ann="")
    page = open_tab("/inbox").page
    draft = card(page, first).get_by_label("Answer", exact=True)
    draft.fill("Dear reader, this is")
    draft.focus()
    second = ask("Second question", bea="")
    expect(card(page, second)).to_be_visible()
    second.reply("bea", "Answered elsewhere.")
    expect(card(page, second)).to_have_count(0)
    expect(draft).to_be_focused()
    expect(draft).to_have_value("Dear reader, this is")

    draft.press_sequentially(" my answer.")
    card(page, first).get_by_role("button", name="Send").click()
    expect(card(page, first)).to_have_count(0)
    (message,) = result_of(first).dialog.messages
    assert (message.speaker, message.content) == ("ann", "Dear reader, this is my answer.")


def test_focus_moves_to_the_next_question(ask, open_tab):
    first, second = ask("Answered elsewhere", ann=""), ask("Still open", bea="")
    page = open_tab("/inbox").page
    answer = card(page, first).get_by_label("Answer", exact=True)
    answer.focus()
    first.reply("ann", "Answered elsewhere.")
    expect(card(page, first)).to_have_count(0)
    expect(card(page, second).get_by_label("Answer", exact=True)).to_be_focused()
    page.keyboard.type("By keyboard.")
    card(page, second).get_by_role("button", name="Send").press("Enter")
    expect(card(page, second)).to_have_count(0)
    assert page.evaluate("document.activeElement !== document.body")


def test_refused_answer_keeps_the_draft(ask, open_tab):
    job = ask("A question that is answered twice", ann="")
    tab = open_tab("/inbox")
    page = tab.page
    page.route("**/api/inbox/reply", lambda route: route.fulfill(status=503, json={"error": "no connection"}))
    draft = card(page, job).get_by_label("Answer", exact=True)
    draft.fill("Once more.")
    send = card(page, job).get_by_role("button", name="Send")
    send.click()
    expect(page.locator("#live-status")).to_have_text("no connection")
    expect(draft).to_have_value("Once more.")
    page.unroute("**/api/inbox/reply")
    send.click()
    expect(card(page, job)).to_have_count(0)
    assert [it.content for it in result_of(job).dialog.messages] == ["Once more."]
    assert all("503" in it for it in tab.errors)
    tab.errors.clear()


def test_filter_shows_the_questions_of_one_person(ask, open_tab):
    people = [f"p{uuid4().hex[:8]}" for _ in range(2)]
    jobs = [ask(f"To {it}", **{it: ""}) for it in people]
    page = open_tab("/inbox").page
    for job in jobs:
        expect(card(page, job)).to_be_visible()
    page.get_by_label("Asked person").fill(people[0])
    expect(card(page, jobs[1])).to_have_count(0)
    card(page, jobs[0]).get_by_role("button", name="Pass").click()
    expect(page.locator("#empty")).to_be_visible()


def test_schedule_is_paused_resumed_and_run(services, schedule, open_tab):
    schedule("nightly", "talk")
    page = open_tab("/schedules").page
    row = page.locator("tr[data-key=nightly]")
    for button, shown, is_paused in (("Pause", "paused", True), ("Resume", "Europe/Berlin", False)):
        row.get_by_role("button", name=f"{button} nightly").click()
        expect(row).to_contain_text(shown)
        assert services.client.schedules.get("nightly").paused is is_paused
        expect(row.get_by_role("button").first).to_be_focused()

    row.get_by_role("button", name="Run nightly now").click()
    expect(row).to_contain_text("completed")
    history = row.get_by_role("button", name="History of nightly")
    history.click()
    runs = page.get_by_role("list", name="Runs of nightly, newest first")
    expect(runs.get_by_role("listitem")).to_have_count(1)
    expect(runs).to_contain_text("run now")
    # A link keeps the focus while the list is loaded again and another schedule is added before it.
    runs.get_by_role("link").focus()
    schedule("earlier", "talk")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("tr[data-key=earlier]")).to_be_visible()
    expect(runs.get_by_role("link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#title")).to_have_text("A talk")
    expect(page.locator("#status")).to_have_text("completed")


@pytest.mark.parametrize(
    ("viewer", "here", "beside"),
    [
        ("Asia/Tokyo", re.compile("1[01]:00:00 AM"), "(3:00 AM Europe/Berlin)"),
        ("Europe/Berlin", "3:00:00 AM", ""),
    ],
)
def test_times_are_in_the_zone_of_the_viewer(schedule, open_tab, viewer, here, beside):
    schedule("zoned", "talk")
    page = open_tab("/schedules", timezone_id=viewer, locale="en-US").page
    time = page.locator("tr[data-key=zoned] time")
    expect(time).to_contain_text(here)
    assert beside in time.inner_text()
    assert ("Europe/Berlin" in time.inner_text()) is bool(beside)


def test_hostile_reason_of_a_failed_run_stays_text(schedule, open_tab):
    schedule("failing", "failing")
    tab = open_tab("/schedules")
    page = tab.page
    row = page.locator("tr[data-key=failing]")
    row.get_by_role("button", name="Run failing now").click()
    expect(row).to_contain_text("failed")
    row.get_by_role("button", name="History of failing").click()
    expect(page.get_by_role("list", name="Runs of failing, newest first")).to_contain_text(MARKUP)
    assert tab.unsafe_parts() == []
