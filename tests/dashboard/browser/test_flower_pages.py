"""Flower's own pages in a browser: the list of tasks, and tasks that Flower has forgotten."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from live import result_of
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

#: The columns of the list that were cut off.
LAST = ("runtime", "worker")
NARROW = {"viewport": {"width": 1000, "height": 800}}


@pytest.fixture
def ended(gated_sessions):
    """A session in which a turn fails."""
    gated_sessions.open_gate()
    job = gated_sessions.submit(
        "round_robin",
        {"ann": "say", "bob": "moody"},
        stop=MaxTurns(2),
        policies={"bob": {"attempts": 1, "then": "skip"}},
        parameters={"fails": 9},
    )
    result_of(job)
    return job


def task_rows(page, job):
    """The rows of the tasks of a session."""
    return page.locator("#tasks-table tbody tr", has=page.get_by_role("link", name=job.id[:8], exact=True))


@pytest.fixture
def waiting(gated_sessions):
    """A session with long names that waits for a person."""
    gated_sessions.open_gate()
    job = gated_sessions.submit(
        "round_robin", {"The reviewer of the architecture": "human"}, stop=MaxTurns(1)
    )
    yield job
    job.cancel()


def test_task_list_fits_and_links_sessions(open_tab, ended, waiting, pictures):
    page = open_tab("/tasks", **NARROW).page
    expect(page.locator("#tasks-table")).to_contain_text("AWAITING_HUMAN")
    expect(task_rows(page, ended)).to_have_count(2)
    page.screenshot(path=pictures / "tasks-1000.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000
    body = page.locator(".dataTables_scrollBody")
    assert body.evaluate("it => it.scrollWidth - it.clientWidth") <= 0, "no column is cut off"
    task_rows(page, ended).first.get_by_role("link", name=ended.id[:8]).click()
    page.wait_for_url(f"**/collabs/{ended.id}")


def test_housekeeping_tasks_are_listed_on_request(open_tab, ended):
    page = open_tab("/tasks?state=SUCCESS").page
    expect(task_rows(page, ended)).to_have_count(1)
    page.get_by_role("link", name="Show these tasks").click()
    expect(page).to_have_url(re.compile(r"state=SUCCESS&housekeeping=1"))
    expect(task_rows(page, ended)).to_have_count(2)
    expect(page.locator("#tasks-table")).to_contain_text("symposia.advance")
    page.get_by_role("link", name="Hide these tasks").click()
    expect(task_rows(page, ended)).to_have_count(1)


def test_links_to_tasks_work_after_a_restart(services, open_tab, ended):
    tab = open_tab(f"/collabs/{ended.id}")
    page = tab.page
    page.get_by_role("link", name="Celery task of turn 2, attempt 1").click()
    expect(page.locator("main")).to_contain_text("mood 1")
    expect(page.locator("main")).to_contain_text(re.compile(r"stub_agents/live\.py.*in moody"))
    terms = page.locator("dt", has_text=re.compile("^(Sent|Received|Started)$"))
    times = terms.evaluate_all("terms => terms.map((term) => term.nextElementSibling.innerText.trim())")
    assert len(times) == 3
    assert times == sorted(times)
    page.go_back()
    services.kill_flower()
    services.wait_for_flower()
    page.reload()
    page.get_by_role("link", name="Celery task of turn 2, attempt 1").click()
    expect(page.locator("#source")).to_contain_text("Flower does not know this task")
    expect(page.locator("main")).to_contain_text("FAILURE")
    expect(page.locator("main")).to_contain_text("RuntimeError: mood 1 (stub_agents/live.py:")
    assert tab.serious_findings() == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("link", name=ended.id).click()
    page.get_by_role("link", name="root task").click()
    expect(page.get_by_role("heading", name="symposia.advance")).to_be_visible()
    services.expire(ended)
    page.reload()
    expect(page.get_by_role("heading", name="symposia.advance")).to_be_visible()
    tab.errors[:] = [it for it in tab.errors if "net::ERR_" not in it]


def test_broker_names_consumers_and_a_worker_refuses_to_grow(open_tab, ended):
    tab = open_tab("/broker")
    page = tab.page
    queue = page.locator("tbody tr", has=page.get_by_role("cell", name="symposia", exact=True))
    heads = [text.lower() for text in page.locator("thead th").all_inner_texts()]
    expect(queue.locator("td").nth(heads.index("consumers"))).to_have_text("1")
    page.goto("/workers")
    page.locator("a[href^='/worker/']").first.click()
    page.get_by_role("button", name="Grow").click()
    expect(page.get_by_role("alert")).to_contain_text("restart the worker with another --concurrency")
    tab.errors[:] = [error for error in tab.errors if "403" not in error]
