"""The list and the page of a session with a keyboard only."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from live import result_of
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

#: Finds the controls in the order of the page, and how they look without the focus.
FIND = """() => {
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const isControl = (it) => it.checkVisibility() && it.tabIndex >= 0 && !it.disabled;
  window.look = (it) => {
    const { outline, boxShadow, backgroundColor, borderColor } = getComputedStyle(it);
    return JSON.stringify([outline, boxShadow, backgroundColor, borderColor]);
  };
  window.controls = [...document.querySelectorAll(kinds)].filter(isControl);
  window.looks = controls.map(look);
  return controls.map((it) => it.outerHTML.slice(0, 120));
}"""
#: Returns the index of the focused control, and whether its look shows the focus.
FOCUSED = """() => {
  const index = controls.indexOf(document.activeElement);
  return [index, index >= 0 && look(document.activeElement) !== looks[index]];
}"""


def tab_through(page: Page) -> None:
    """Check that Tab reaches every control in the order of the page, and that each shows the focus."""
    controls = page.evaluate(FIND)
    assert len(controls) > 10
    seen: list[int] = []
    unclear = set()
    # Areas that scroll may have the focus, too.
    for _ in range(len(controls) + 20):
        page.keyboard.press("Tab")
        index, is_shown = page.evaluate(FOCUSED)
        if index >= 0:
            seen.append(index)
            if not is_shown:
                unclear.add(controls[index])
        if index == len(controls) - 1:
            break
    assert [controls[it] for it in seen] == controls
    assert unclear == set()


def tab_to(page: Page, name: str) -> None:
    """Press Tab until a button or link with a name has the focus."""
    wanted = page.get_by_role("button", name=name).or_(page.get_by_role("link", name=name)).first
    expect(wanted).to_be_enabled()
    for _ in range(80):
        page.keyboard.press("Tab")
        if wanted.evaluate("it => it === document.activeElement"):
            return
    raise AssertionError(f"Tab does not reach {name}")


@pytest.mark.parametrize("view", ["list", "session"])
def test_tab_reaches_every_control(gated_sessions, open_tab, view):
    job = gated_sessions.submit("round_robin", {"ann": "human", "bob": "say"}, stop=MaxTurns(2))
    path = "/collabs" if view == "list" else f"/collabs/{job.id}"
    page = open_tab(path, reduced_motion="reduce").page
    if view == "list":
        expect(page.locator(f"#row-{job.id}")).to_contain_text("ann")
    else:
        expect(page.get_by_role("button", name="Answer")).to_be_enabled()
        expect(page.get_by_role("link", name="Export json")).not_to_have_count(0)
    expect(page.locator("#health")).to_contain_text("Live")
    tab_through(page)
    job.cancel()


def test_session_is_controlled_by_keyboard(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "human"}, stop=MaxTurns(4))
    page = open_tab(f"/collabs/{job.id}").page
    status, done = page.locator("#status"), page.locator("#action-status")
    tab_to(page, "Suspend")
    page.keyboard.press("Space")
    expect(status).to_have_text("suspended")
    # The button that replaces another one gets its focus.
    expect(page.get_by_role("button", name="Resume")).to_be_focused()
    expect(done).to_have_text("suspend: done")
    page.keyboard.press("Enter")
    expect(status).to_have_text("active")
    expect(page.get_by_role("button", name="Suspend")).to_be_focused()

    gated_sessions.open_gate()
    answer = page.get_by_label("Answer", exact=True)
    expect(answer).to_be_visible()
    expect(page.get_by_role("button", name="Suspend")).to_be_focused()
    answer.focus()
    page.keyboard.type("Yes, ")
    job.post("Meanwhile.")
    expect(page.locator("#turns")).to_contain_text("Meanwhile.")
    expect(answer).to_be_focused()
    page.keyboard.type("by keyboard.")
    tab_to(page, "Answer")
    page.keyboard.press("Space")
    expect(page.locator("#turns")).to_contain_text("Yes, by keyboard.")
    # The form is gone.
    expect(done).to_have_text("reply: done")
    expect(done).to_be_focused()

    page.get_by_role("link", name="Show the newest").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#events tr").first).to_be_visible()
    expect(page.locator("[data-source]")).to_be_visible()
    page.get_by_role("button", name="Cancel…").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Reason")).to_be_focused()
    tab_to(page, "Cancel the session")
    page.keyboard.press("Enter")
    expect(status).to_have_text("cancelled")
    expect(done).to_be_focused()


def test_list_is_controlled_by_keyboard(gated_sessions, open_tab):
    jobs = [
        gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2)) for _ in "ab"
    ]
    page = open_tab("/collabs").page
    row = page.locator(f"#row-{jobs[0].id}")
    expect(row.locator(".c-now")).to_have_text("ann")
    tab_to(page, "Sort by tokens")
    page.keyboard.press("Enter")
    expect(page.get_by_role("columnheader", name="tok")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("link", name="Sort by tokens").press("Enter")
    expect(page).to_have_url(re.compile("sort=tokens"))
    expect(page.locator("[data-source]")).to_be_visible()

    page.keyboard.press("/")
    page.keyboard.type(gated_sessions.title)
    page.keyboard.press("Enter")
    expect(page.locator("#rows tr")).to_have_count(2)
    expect(page.locator("[data-source]")).to_be_visible()
    page.locator("h1").click()
    for key in ("j", "x", "j", "Shift+X", "b"):
        page.keyboard.press(key)
    expect(page.get_by_role("region", name="Selected sessions")).to_contain_text("2 selected")
    expect(page.get_by_role("button", name="Suspend")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Selected sessions")).to_be_hidden()

    link = row.get_by_role("link", name=gated_sessions.title)
    link.focus()
    gated_sessions.open_gate()
    expect(row).to_contain_text("completed")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("completed")


def test_focus_stays_in_the_list_when_a_session_leaves_the_filter(gated_sessions, open_tab):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    page = open_tab(f"/collabs?status=active&q={gated_sessions.title}").page
    rows = page.locator("#rows tr")
    expect(rows).to_have_count(1)
    rows.get_by_role("link").focus()
    gated_sessions.open_gate()
    result_of(job)
    expect(rows).to_have_count(0)
    expect(page.get_by_role("table", name="Sessions")).to_be_focused()
    expect(page.get_by_role("region", name="No session")).to_contain_text("No session matches")
