"""The inbox and the schedules in a browser: answers with drafts; pause, resume, run and history."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from live import result_of, until
from servers.layout import layout_faults
from stub_agents.hostile import MARKUP
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture
def ask(services):
    """Submits a session that waits for some people, or in which `ann` asks ben; it has ended after the test."""
    jobs = []

    def ask(title: str, *people: str, **parameters: object):
        roster = [Participant(participant_id=it, kind="human") for it in people or ("ben",)]
        asker = [] if people else [Participant(participant_id="ann")]
        collab = Collab(title=title, purpose="Answer.", mode="round_robin", participants=[*asker, *roster])
        agents = {} if people else {"ann": "asks"}
        jobs.append(services.client.submit(collab, agents=agents, stop=MaxTurns(1), parameters=parameters))
        until(jobs[-1].pending, what="a person is asked")
        return jobs[-1]

    yield ask
    for job in jobs:
        if not job.state().is_final:
            job.cancel()


def card(page, job):
    return page.locator("#questions .question", has=page.locator(f"a[href$='{job.id}']"))


def answer_of(page, job):
    return card(page, job).get_by_label("Answer", exact=True)


def test_draft_is_kept_while_the_inbox_changes(ask, open_tab):
    first = ask("First question", "ann")
    page = open_tab("/inbox").page
    draft = answer_of(page, first)
    draft.fill("Dear reader, this is")
    draft.focus()
    second = ask("Second question", "bea")
    expect(card(page, second)).to_be_visible()
    second.reply("bea", "Answered elsewhere.")
    expect(card(page, second)).to_have_count(0)
    # The same question, rendered again.
    card(page, first).evaluate(
        """async (card) => {
          const { show } = await import("/collabs/static/fragments.js");
          const text = card.outerHTML.replaceAll("must answer", "should answer").replace("Write the", "Write the very");
          show({ html: { [card.id]: text } });
        }"""
    )
    expect(card(page, first)).to_contain_text("Write the very next message.")
    expect(draft).to_be_focused()
    expect(draft).to_have_value("Dear reader, this is")

    draft.press_sequentially(" my answer.")
    card(page, first).get_by_role("button", name="Send").click()
    expect(card(page, first)).to_have_count(0)
    expect(page.locator("#action-status")).to_have_text("The answer was sent.")
    (message,) = result_of(first).dialog.messages
    assert (message.speaker, message.content) == ("ann", "Dear reader, this is my answer.")


def test_draft_outlives_its_question(ask, open_tab):
    job = ask("Answered by somebody else", "ann")
    page = open_tab("/inbox").page
    draft = answer_of(page, job)
    draft.fill("A long answer")
    job.reply("ann", "A short one.")
    expect(card(page, job)).to_contain_text("no longer open. Your text was not sent.")
    expect(draft).to_have_value("A long answer")
    card(page, job).get_by_role("button", name="Discard the text").click()
    expect(card(page, job)).to_have_count(0)


def test_focus_moves_to_the_next_question(ask, open_tab):
    first, second = ask("Answered elsewhere", "ann"), ask("Still open", "bea")
    page = open_tab("/inbox").page
    answer_of(page, first).focus()
    first.reply("ann", "Answered elsewhere.")
    expect(card(page, first)).to_have_count(0)
    expect(answer_of(page, second)).to_be_focused()
    page.keyboard.type("By keyboard.")
    card(page, second).get_by_role("button", name="Send").press("Enter")
    expect(card(page, second)).to_have_count(0)
    assert page.evaluate("document.activeElement !== document.body")


def test_refused_answer_keeps_the_draft(ask, open_tab):
    job = ask("A question that is answered twice", "ann")
    tab = open_tab("/inbox")
    page = tab.page
    page.route("**/api/inbox/reply", lambda route: route.fulfill(status=503, json={"error": "no connection"}))
    draft = answer_of(page, job)
    draft.fill("Once more.")
    send = card(page, job).get_by_role("button", name="Send")
    send.click()
    expect(card(page, job).get_by_role("alert")).to_have_text("no connection")
    expect(draft).to_have_value("Once more.")
    page.unroute("**/api/inbox/reply")
    send.click()
    expect(card(page, job)).to_have_count(0)
    assert [it.content for it in result_of(job).dialog.messages] == ["Once more."]
    assert all("503" in it for it in tab.errors)
    tab.errors.clear()


def test_question_says_who_asks_whom_and_what_happens_without_an_answer(ask, open_tab, pictures):
    question = "May I delete the draft?\nIt is **important** that nobody needs it."
    job = ask("Clear the folder", question=question, choices=["yes", "no"])
    tab = open_tab("/inbox")
    page = tab.page
    shown = card(page, job)
    expect(shown).to_contain_text(
        re.compile(r"ben\s+must answer\s+· asked by ann in turn 1 of Clear the folder, \d+ s ago")
    )
    expect(shown).to_contain_text(re.compile(r"No answer until .+, in \d d: the agent goes on without one\."))
    expect(shown.locator(".said strong")).to_have_text("important")
    assert (
        shown.locator(".said").evaluate("it => getComputedStyle(it).whiteSpaceCollapse") == "preserve-breaks"
    )
    for choice in ("yes", "no"):
        expect(shown.get_by_label(choice, exact=True)).not_to_be_checked()
    send = shown.get_by_role("button", name="Send the answer")
    send.click()  # the browser asks for a choice
    assert job.pending()
    shown.get_by_label("no", exact=True).check()
    send.click()
    expect(shown).to_have_count(0)
    assert [it.content for it in result_of(job).dialog.messages][-1] == "no"

    page.get_by_role("link", name="answered", exact=True).click()
    row = page.locator("tr", has=page.locator(f"a[href*='{job.id}?turn=1']"))
    expect(row).to_contain_text(re.compile(r"May I delete the draft\?.*Clear the folder.*ben", re.DOTALL))
    assert tab.serious_findings() == []
    assert layout_faults(page, pictures, "answered") == {}
    page.get_by_role("link", name="without an answer").click()
    page.wait_for_url("**state=expired**")
    expect(row).to_have_count(0)
    page.goto("/inbox?state=expired&for=unasked")  # other tests may have left expired questions to ben
    expect(page.get_by_role("heading", name="No question ended without an answer")).to_be_visible()


def test_address_shows_the_questions_of_one_person(ask, open_tab):
    people = [f"p{uuid4().hex[:8]}" for _ in range(2)]
    jobs = [ask(f"To {it}", it) for it in people]
    page = open_tab("/inbox").page
    for job in jobs:
        expect(card(page, job)).to_be_visible()
    page = open_tab("/inbox", java_script_enabled=False).page
    page.get_by_label("Asked person or role").fill(people[0])
    page.get_by_role("button", name="Show").click()
    expect(card(page, jobs[0])).to_be_visible()
    expect(card(page, jobs[1])).to_have_count(0)

    page = open_tab(f"/inbox?for={people[0]}&state=none").page
    expect(page.get_by_text("state: 'none' is not one of")).to_be_visible()
    expect(page.get_by_role("link", name=f"1 for {people[0]}")).to_have_attribute("aria-current", "page")
    card(page, jobs[0]).get_by_role("button", name="Pass").click()
    expect(page.locator("#inbox-end")).to_contain_text(f"No session waits for {people[0]}")


QUESTIONS = {
    "How should the reading room lend rare books to the other libraries of the city? " * 3: {
        "question": "unbroken" * 60
        + "\n\n| a | b |\n|---|---|\n| "
        + "wide" * 50
        + " | c |\n\n```\n"
        + "code " * 60
        + "\n```"
    },
    "展覧会カタログの翻訳:第三章「古い地図と航海の記録」" * 3: {
        "question": "「古書」は rare book と antiquarian book のどちらに統一しますか。" * 4,
        "choices": ["rare book", "古書" * 40, "unbroken" * 12],
    },
    "مراجعة عقد الإيجار والملاحق قبل التوقيع النهائي": {
        "question": "هل توافق على شرط التأمين قبل نهاية الأسبوع؟ Please write one or two sentences."
    },
}


def test_inbox_fits_at_any_width(ask, open_tab, pictures):
    for title, parameters in QUESTIONS.items():
        ask(title, **parameters)
    for number in range(37):
        ask(f"Question {number}", f"person-{number}")
    for theme in ("light", "dark"):
        page = open_tab("/inbox", color_scheme=theme, reduced_motion="reduce").page
        expect(page.locator("#questions > .question")).to_have_count(40)
        assert layout_faults(page, pictures, f"inbox-{theme}") == {}


def test_schedule_is_paused_resumed_and_run(services, schedule, open_tab):
    schedule("nightly", "talk")
    page = open_tab("/schedules").page
    row = page.locator("#schedule-nightly")
    for button, shown, is_paused in (("Pause", "paused", True), ("Resume", "Europe/Berlin", False)):
        row.get_by_role("button", name=f"{button} nightly").click()
        expect(row.locator(".c-next")).to_contain_text(shown)
        assert services.client.schedules.get("nightly").paused is is_paused
        expect(row.get_by_role("button").first).to_be_focused()

    row.get_by_role("button", name="Run nightly now").click()
    expect(page.locator("#action-status")).to_have_text("nightly: a run was requested")
    expect(row).to_contain_text("completed")
    row.get_by_role("link", name="History of nightly").click()
    runs = page.get_by_role("list", name="Runs of nightly, newest first")
    expect(runs.get_by_role("listitem")).to_have_count(1)
    expect(runs).to_contain_text("run now")
    # A link keeps the focus while another schedule is added before it.
    runs.get_by_role("link").focus()
    schedule("earlier", "talk")
    expect(page.locator("#schedule-earlier")).to_be_visible()
    expect(runs.get_by_role("link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#title")).to_have_text("A talk")
    expect(page.locator("#status")).to_have_text("completed")


@pytest.mark.parametrize(
    ("viewer", "expected"),
    [
        ("Asia/Tokyo", r"1[01]:00 \(03:00 Europe/Berlin\)"),
        ("America/New_York", r"2[01]:00 \(.+ 03:00 Europe/Berlin\)"),
        ("Europe/Berlin", r"03:00"),
    ],
)
def test_times_are_in_the_zone_of_the_viewer(schedule, open_tab, viewer, expected):
    schedule("zoned", "talk")
    page = open_tab("/schedules", timezone_id=viewer, locale="en-US").page
    time = page.locator("#schedule-zoned .c-next time").first
    expect(time).to_have_text(re.compile(rf"\w{{3}} \d+, \d{{4}}, {expected}, in \d+ \w+$"))


def test_schedules_without_a_script(schedule, open_tab):
    schedule("zoned", "talk")
    page = open_tab("/schedules", java_script_enabled=False).page
    row = page.locator("#schedule-zoned")
    expect(row.locator(".c-next")).to_contain_text(re.compile(r"\d{4}-\d\d-\d\d 03:00 Europe/Berlin"))
    row.get_by_role("link", name="History of zoned").click()
    expect(page.locator("#history")).to_contain_text("zoned has not run yet.")


def test_empty_page_says_how_to_add_a_schedule(schedule, open_tab):
    page = open_tab("/schedules").page
    expect(page.locator("#schedules-end")).to_contain_text("symposia schedule add nightly")
    schedule("first", "talk")
    expect(page.locator("#schedule-first")).to_be_visible()
    expect(page.locator("#schedules-end")).to_be_hidden()


def test_reason_of_a_failed_run_is_shown_as_text(schedule, open_tab, pictures):
    schedule("failing", "failing")
    schedule("a-schedule-with-a-long-name.of-the-most-characters-that-are-allo", "talk")
    tab = open_tab("/schedules?history=failing")
    page = tab.page
    row = page.locator("#schedule-failing")
    row.get_by_role("button", name="Run failing now").click()
    expect(row.locator(".c-last")).to_contain_text(MARKUP)
    expect(page.get_by_role("list", name="Runs of failing, newest first")).to_contain_text(MARKUP)
    assert tab.unsafe_parts() == []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert layout_faults(page, pictures, f"schedules-{theme}") == {}
