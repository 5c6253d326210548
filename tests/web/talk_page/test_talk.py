"""The page to talk, in a real browser, with a real server and worker."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from servers.browser import own_tab
from talk.agents import FILE, REPORT

#: A browser, a worker and a server share the cores.
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

#: Errors that the browser logs while the server is down, and for an answer with an error.
DOWN = ("Failed to load resource: net::", "ERR_INCOMPLETE_CHUNKED_ENCODING")
REFUSED = ("status of 422",)
TITLES = {
    "light": "A line above the door",
    "dark": "Words for a reading room",
    "phone": "A sign for the garden",
}
LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}


def choose(page: Page, file: str) -> None:
    page.locator(f"input[value={file}]").check(force=True)


def start(page: Page, title: str) -> None:
    choose(page, "lines")
    page.get_by_role("textbox", name="topic").fill(title)
    page.get_by_role("button", name="Start session").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def answer_first(page: Page) -> None:
    question = page.get_by_role("article", name="Question to Ben")
    expect(question.locator("em")).to_have_text("line")
    question.get_by_label("the second").check()
    question.get_by_role("button", name="Send the answer").click()


def answer_rest(page: Page) -> None:
    page.get_by_role("button", name="Approve").click()
    own = page.get_by_label("Answer", exact=True)
    own.fill("I like it.")
    own.press("Control+Enter")


def answer_all(page: Page) -> None:
    answer_first(page)
    answer_rest(page)


def expect_each_message_once(page: Page, server) -> None:
    session = server.web.get(f"/sessions/{page.url.rpartition('/')[2]}")
    expect(page.locator("#dialog .turn")).to_have_count(session["messages"])


def test_session_is_started_answered_and_shown_to_its_end(server, open_tab, title):
    page = open_tab().page
    start(page, title)
    # The first half is a delta; the stored message takes its place.
    draft = page.locator("#drafts .turn")
    expect(draft).to_contain_text("Come in, the books are awake.")
    expect(page.locator("#now")).to_have_text("writer speaks")
    server.open_gate(title)
    dialog = page.get_by_role("log")
    expect(dialog).to_contain_text("Read, and leave lighter.")
    expect(draft).to_have_count(0)
    expect(page.locator("#status")).to_have_text("needs answer")
    answer_all(page)
    expect(dialog).to_contain_text("ben said the second, approve")
    expect(dialog).to_contain_text("I like it.")
    expect(page.locator("#status")).to_have_text("completed")
    expect_each_message_once(page, server)
    expect(page.locator("#connection")).to_have_text("Ended")
    expect(page.locator("#result")).to_contain_text("I like it.")
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Download {FILE}").click()
    assert Path(download.value.path()).read_bytes() == b"# Silence\n"
    expect(page.locator("#recent a[aria-current]")).to_contain_text(title)


def test_reload_in_the_middle_shows_the_same_session(server, open_tab, title):
    page = open_tab().page
    start(page, title)
    expect(page.locator("#drafts")).to_contain_text("Come in")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    server.open_gate(title)
    expect(page.get_by_role("log")).to_contain_text("Read, and leave lighter.")
    page.reload()
    answer_all(page)
    expect(page.locator("#status")).to_have_text("completed")
    expect_each_message_once(page, server)


def test_lost_server_is_shown_and_the_dialog_resumed(server, open_tab, title):
    page = open_tab(expected=DOWN).page
    start(page, title)
    expect(page.locator("#connection")).to_have_text("Live")
    server.kill()
    try:
        expect(page.locator("#connection")).to_contain_text("Connection lost")
        server.open_gate(title)
    finally:
        server.web.start()
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page.locator("#dialog .turn")).to_have_count(1)
    answer_all(page)
    expect(page.locator("#status")).to_have_text("completed")
    expect_each_message_once(page, server)


def test_text_of_an_answer_stays_while_the_server_is_down(server, open_tab, title):
    server.open_gate(title)
    page = open_tab(expected=DOWN).page
    start(page, title)
    question = page.get_by_role("article", name="Question to Ben")
    question.get_by_label("the first").check()
    server.kill()
    try:
        question.get_by_role("button", name="Send the answer").click()
        expect(question.get_by_role("alert")).to_contain_text("does not answer")
        expect(question.get_by_label("the first")).to_be_checked()
    finally:
        server.web.start()
    question.get_by_role("button", name="Send the answer").click()
    expect(question.get_by_role("button", name="Refuse")).to_be_visible()


def test_wrong_input_is_named_at_its_field_and_nothing_is_lost(open_tab, title):
    page = open_tab(expected=REFUSED).page
    choose(page, "lines")
    page.get_by_label("dry").check()
    page.get_by_role("button", name="Start session").click()
    topic, count = page.get_by_role("textbox", name="topic"), page.get_by_role("textbox", name="count")
    expect(topic).to_have_accessible_description(re.compile("topic is required"))
    expect(topic).to_be_focused()
    topic.fill(title)
    count.fill("three")
    page.get_by_role("button", name="Start session").click()
    expect(count).to_have_accessible_description(re.compile("count must be an integer of at most 18 digits"))
    expect(count).to_be_focused()
    expect(topic).to_have_value(title)
    expect(page.get_by_label("dry")).to_be_checked()
    # Another choice and back loses nothing either.
    choose(page, "votes")
    choose(page, "lines")
    expect(count).to_have_value("three")


def test_session_is_controlled_with_the_keyboard_alone(open_tab, title):
    page = open_tab().page
    page.locator("input[value=hostile]").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type(title)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    page.get_by_role("button", name="Suspend").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("suspended")
    page.get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Cancel this session?")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("cancelled")


def test_ended_session_is_continued_with_a_message(open_tab):
    page = open_tab().page
    choose(page, "votes")
    page.get_by_role("button", name="Start session").click()
    table = page.get_by_role("group", name="Table of the result")
    expect(table.get_by_role("rowheader", name="line")).to_be_visible()
    expect(table).to_contain_text(REPORT["line"])
    page.get_by_label("Continue with a message").fill("Count again.")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("log")).to_contain_text("Count again.")
    expect(page.locator("#status")).to_have_text("completed")


def test_hostile_texts_are_shown_as_text(open_tab):
    page = open_tab().page
    choose(page, "hostile")
    page.get_by_role("button", name="Start session").click()
    expect(page.get_by_role("log")).to_contain_text("<script>pwned=1</script> [a](javascript:pwned=1)")
    expect(page.get_by_role("heading", level=1)).to_have_text("<b>Hostile</b> \\u202etexts")
    assert page.evaluate("'pwned' in window") is False
    assert page.locator("main :is(img, script, iframe, [onerror])").count() == 0


@pytest.mark.parametrize("look", LOOKS)
def test_screenshot_fits_and_is_accessible(server, open_tab, pictures, look):
    tab = open_tab(reduced_motion="reduce", **LOOKS[look])
    page = tab.page

    def check() -> None:
        assert tab.serious_findings() == []
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0

    choose(page, "lines")
    check()
    server.open_gate(TITLES[look])
    start(page, TITLES[look])
    answer_first(page)
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    expect(page.locator("#recent a[aria-current]")).to_contain_text("active")
    check()
    page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=pictures / f"talk-{look}.png", full_page=True)
    answer_rest(page)
    expect(page.locator("#attachments")).to_be_visible()
    check()


def test_token_is_asked_for_checked_and_kept_in_the_tab(server, guarded, browser, title):
    url, token = guarded
    server.open_gate(title)
    with own_tab(browser, url) as tab:
        page = tab.page
        page.goto("/")
        dialog = page.get_by_role("dialog", name="Access token")
        dialog.get_by_label("Token").fill("sym_wrong")
        dialog.get_by_role("button", name="Use token").click()
        expect(dialog.get_by_role("alert")).not_to_be_empty()
        dialog.get_by_label("Token").fill(token)
        dialog.get_by_role("button", name="Use token").click()
        # The token has no scope `control`: starting a session needs none.
        start(page, title)
        page.reload()
        answer_all(page)
        expect(page.locator("#status")).to_have_text("completed")
        # Sessions of other tenants are not listed.
        expect(page.locator("#recent li")).to_have_count(1)
        assert [error for error in tab.errors if "status of 401" not in error] == []
    with own_tab(browser, url) as tab:
        tab.page.goto("/")
        expect(tab.page.get_by_role("dialog", name="Access token")).to_be_visible()


def test_unknown_session_is_named_in_one_line(open_tab):
    page = open_tab("/#/sessions/3f0c4a52-7f0e-4d7c-8a3e-111111111111", expected=("status of 404",)).page
    expect(page.locator("#problem")).to_contain_text("not found")
