"""Actions on the page of a session, when a request fails or a person clicks twice."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Route, expect

from live import result_of
from servers.dashboard import CREDENTIALS
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def test_escape_keeps_the_session_after_a_failure(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    tab = open_tab(f"/collabs/{job.id}")
    page = tab.page
    requests: list[str] = []

    def fail(route: Route) -> None:
        requests.append(route.request.url)
        route.fulfill(status=503, json={"error": "no connection"})

    page.route("**/cancel", fail)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the session").click()
    expect(page.locator("#action-status")).to_have_text("cancel failed: no connection")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    gated_sessions.open_gate()
    expect(page.locator("#status")).to_have_text("completed")
    assert len(requests) == 1
    assert all("503" in it for it in tab.errors)
    tab.errors.clear()


def test_double_click_sends_one_request(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page
    requests: list[str] = []
    page.on("request", lambda it: requests.append(it.url) if it.method == "POST" else None)
    page.get_by_role("button", name="Suspend").dblclick()
    expect(page.locator("#action-status")).to_have_text("suspend: done")
    expect(page.get_by_role("button", name="Resume")).to_be_enabled()

    page.get_by_label("Message to the session").fill("Once.")
    post = page.get_by_role("button", name="Post")
    post.dblclick()
    expect(page.locator("#action-status")).to_have_text("post: done")
    expect(post).to_be_enabled()
    assert [it.rpartition("/")[2] for it in requests] == ["suspend", "post"]


def test_session_is_stopped_after_its_turn(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(4))
    page = open_tab(f"/collabs/{job.id}").page
    expect(page.locator("#session-notice")).to_contain_text("ann speaks")
    page.get_by_role("button", name="Stop after this turn").click()
    expect(page.locator("#action-status")).to_have_text("stop: done")
    expect(page.locator("#summary")).to_contain_text("stops after the turns in flight")
    gated_sessions.open_gate()
    expect(page.locator("#status")).to_have_text("completed")
    expect(page.locator("#turns .said")).to_have_text(["ann speaks in turn 1"])
    buttons = page.locator("#summary button")
    expect(buttons).to_have_text(["Continue…", "Fork…", "Compare…"])


def test_session_is_exported(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page

    def exported(form: str) -> str:
        with page.expect_download() as started:
            page.get_by_role("link", name=f"Export {form}").click()
        return started.value.path().read_text()

    running = json.loads(exported("json"))
    gated_sessions.open_gate()
    expect(page.locator("#status")).to_have_text("completed")
    ended = json.loads(exported("json"))
    assert [len(it["dialog"].get("messages", ())) for it in (running, ended)] == [0, 2]
    assert "MAPSessionCompleted" in exported("map-events")


def test_system_message_is_posted(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page
    page.get_by_label("Message to the session").fill("Be brief.")
    page.get_by_label("Role").select_option("system")
    page.get_by_role("button", name="Post").click()
    expect(page.get_by_label("Message to the session")).to_have_value("")
    gated_sessions.open_gate()
    posted = page.locator("#turns > .turn", has_text="Be brief.")
    expect(posted.locator("header b")).to_have_text("system")


def test_message_that_was_changed_after_a_lost_answer_is_posted(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    tab = open_tab(f"/collabs/{job.id}")
    page = tab.page
    message, done = page.get_by_label("Message to the session"), page.locator("#action-status")

    def lose_answer(route: Route) -> None:
        route.fetch()
        route.fulfill(status=503, json={"error": "no connection"})

    page.route("**/post", lose_answer)
    message.fill("First.")
    page.get_by_role("button", name="Post").click()
    expect(done).to_have_text("post failed: no connection")
    page.unroute("**/post")
    # The same message is written once.
    page.get_by_role("button", name="Post").click()
    expect(message).to_have_value("")
    page.route("**/post", lose_answer)
    message.fill("Second.")
    page.get_by_role("button", name="Post").click()
    expect(done).to_have_text("post failed: no connection")
    page.unroute("**/post")
    message.fill("Third.")
    page.get_by_role("button", name="Post").click()
    expect(message).to_have_value("")
    gated_sessions.open_gate()
    expect(page.locator("#status")).to_have_text("completed")
    posted = page.locator("#turns > .turn", has_text=re.compile("(First|Second|Third)[.]"))
    expect(posted.locator(".said")).to_have_text(["First.", "Second.", "Third."])
    assert all("503" in it for it in tab.errors)
    tab.errors.clear()


def test_one_of_two_questions_is_answered_by_a_choice(gated_sessions, open_tab):
    job = gated_sessions.submit(
        "broadcast", {"ann": "careful", "ben": "human"}, people=["ben"], stop=MaxTurns(2)
    )
    page = open_tab(f"/collabs/{job.id}").page
    forms = page.locator("#questions form")
    expect(forms).to_have_count(2)
    choice = forms.filter(has_text="May I delete it?")
    expect(choice.get_by_label("yes")).not_to_be_checked()
    choice.get_by_label("no").check()
    choice.get_by_role("button", name="Answer").click()
    expect(forms).to_have_count(1)
    expect(page.locator("#turns")).to_contain_text("ben said no")
    forms.locator("textarea").fill("Nothing to add.")
    forms.get_by_role("button", name="Answer").click()
    expect(page.locator("#turns")).to_contain_text("Nothing to add.")
    expect(page.locator("#status")).to_have_text("completed")
    expect(page.locator("#questions")).to_be_hidden()


def test_ended_session_is_forked_continued_and_compared(services, gated_sessions, open_tab):
    gated_sessions.open_gate()
    job = gated_sessions.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(3))
    result_of(job, timeout_s=60)
    page = open_tab(f"/collabs/{job.id}?people=cost").page
    page.get_by_role("button", name="Fork before turn 2").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Before turn")).to_have_value("2")
    dialog.get_by_label("Participant").select_option("bob")
    dialog.get_by_label("Further instruction").fill("Be brief.")
    page.keyboard.press("Control+Enter")
    expect(page).not_to_have_url(re.compile(job.id))
    expect(page.locator("#status")).to_have_text("completed")
    fork = services.client.get_job(page.url.rpartition("/")[2])
    assert fork.spec.agents["bob"].instructions == "Be brief."
    page.locator("#summary").get_by_role("link", name="compare").click()
    expect(page.locator("#compare")).to_contain_text("3 messages are the same")

    page.get_by_role("button", name="Continue…").click()
    dialog.get_by_label("First message").fill("And a name for the dog?")
    dialog.get_by_role("button", name="Continue").click()
    expect(page.locator("#turns")).to_contain_text("And a name for the dog?")
    expect(page.locator("#status")).to_have_text("completed")
    page.get_by_role("button", name="Compare…").click()
    dialog.get_by_label("Id of the session").fill(job.id[:8])
    page.keyboard.press("Enter")
    expect(page.locator("#compare ins").first).to_contain_text("And a name")
    page.locator("#compare").get_by_role("link", name="Close").click()
    expect(page.locator("#compare")).to_have_count(0)


def test_enter_cancels_and_the_page_says_by_whom(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs/{job.id}").page
    page.get_by_role("button", name="Cancel…").click()
    page.keyboard.type("the wrong question")
    page.keyboard.press("Enter")
    user = CREDENTIALS.partition(":")[0]
    sentence = re.compile(rf"Cancelled at [\d:]+ by {user}: the wrong question")
    expect(page.locator("#session-notice")).to_contain_text(sentence)
    page.goto(f"/collabs?q={job.id}")
    expect(page.locator(f"#row-{job.id} .c-status")).to_contain_text(f"by {user}")


def test_texts_are_copied(gated_sessions, open_tab):
    gated_sessions.open_gate()
    job = gated_sessions.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(1))
    result_of(job, timeout_s=60)
    page = open_tab(f"/collabs/{job.id}", permissions=["clipboard-read", "clipboard-write"]).page
    for name, text in (("Copy the id", job.id), ("Copy the text of turn 1", "ann speaks in turn 1")):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("button", name=name)).to_have_text("copied")
        assert page.evaluate("navigator.clipboard.readText()") == text
