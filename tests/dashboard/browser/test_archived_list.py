"""Sessions that only the archive has, in the list of a browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from live import result_of
from sessions.submitted import submit_two
from symposia.archive.archive import Archive
from symposia.client.building.connection import archive_url
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.archived import STREAM_STARTS, ArchivePage, Documents, Snapshot
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.workspace.sql.store import deliver_to_conversation

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

TITLE = "Kept in the archive"
OLD = 130
#: Rows of one page.
PAGE = 100
#: When the first of the old sessions was opened, in milliseconds since the epoch.
OPENED_MS = 1_700_000_000_000


def fill_archive(archive: Archive) -> None:
    """Add old sessions, the second half of them cancelled."""
    people = [Participant(participant_id=it) for it in ("ann", "bob")]
    for number in range(OLD):
        collab = Collab(title=f"{TITLE} old {number}", purpose="is old", mode="pair", participants=people)
        at_ms = OPENED_MS + number
        status = "completed" if number < OLD // 2 else "cancelled"
        fields = {"status": status, "dialog_status": status, "reason": status}
        page = ArchivePage(
            session_id=collab.collab_id,
            opened_ms=at_ms,
            documents=Documents(collab.to_json(), "{}"),
            since=STREAM_STARTS,
            dialog=(),
            snapshot=Snapshot(fields | {"updated_ms": str(at_ms), "ended_ms": str(at_ms)}, {}, {}),
        )
        archive.writer.write(page, None)  # type: ignore[arg-type]  # its one page is whole


@pytest.fixture(scope="module")
def archived(services) -> CollabJob:
    """A session that ran here, and older ones; Flower was started after Redis had lost it."""
    job = submit_two(services.client, TITLE, mode="round_robin", stop=MaxTurns(2))
    result_of(job)
    services.expire(job)
    archive = Archive(archive_url(services.settings), deliver_to_conversation)
    fill_archive(archive)
    archive.close()
    services.kill_flower()
    services.wait_for_flower()
    return job


@pytest.fixture
def session_list(archived, open_tab) -> Page:
    """The list, filtered by the title of the archived sessions."""
    page = open_tab("/collabs").page
    with page.expect_response(re.compile("/api/collabs/archived[?].*q=")):
        page.get_by_label("Search").fill(TITLE)
    expect(rows(page).nth(PAGE - 1)).to_be_visible()
    return page


def rows(page: Page) -> Locator:
    return page.locator("#archived tr.collab-row")


def titles(page: Page) -> list[str]:
    return rows(page).locator(".collab-title").all_inner_texts()


def test_archived_sessions_are_listed_paged_and_opened(gated_sessions, archived, session_list):
    page, more = session_list, session_list.get_by_role("button", name="Show more")
    expect(rows(page)).to_have_count(PAGE)
    expect(page.locator("#archived")).to_contain_text("Archived, by the time of opening")
    old = [f"{TITLE} old {number}" for number in reversed(range(OLD))]
    assert titles(page) == [TITLE, *old][:PAGE]
    more.dblclick()
    expect(rows(page)).to_have_count(OLD + 1)
    expect(rows(page).nth(PAGE).get_by_role("link")).to_be_focused()
    assert titles(page) == [TITLE, *old]
    expect(more).to_be_hidden()
    expect(page.locator(".archived-title")).to_have_count(1)

    gated_sessions.title = f"{TITLE}, again"
    running = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    expect(page.locator("#rows tr")).to_have_count(1)
    expect(page.locator(f"#row-{running.id}")).to_contain_text("ann (speaking)")
    expect(rows(page)).to_have_count(OLD + 1)
    gated_sessions.open_gate()

    opened = page.locator(f"#row-{archived.id}")
    expect(opened).to_contain_text("archived")
    opened.get_by_role("link").click()
    expect(page.locator("#live-status")).to_contain_text("Archived")
    expect(page.locator("#messages .message-text")).to_have_text(
        ["ann speaks in turn 1", "bob speaks in turn 2"]
    )
    expect(page.locator("#turns tr")).to_have_count(2)


def test_archived_sessions_are_filtered(session_list):
    page = session_list
    page.locator("select[name=status]").select_option("completed")
    expect(rows(page)).to_have_count(OLD // 2 + 1)
    page.locator("select[name=mode]").select_option("pair")
    expect(rows(page)).to_have_count(OLD // 2)
    page.get_by_label("Search").fill(f"{TITLE} old 7")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Search").fill(f"{TITLE} none")
    expect(page.get_by_text("No sessions.")).to_be_visible()
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    expect(page.locator("#archived tr")).to_have_count(0)


def test_failure_of_the_archive_is_shown_until_it_works(archived, open_tab):
    tab = open_tab("/schedules")
    page = tab.page

    def fail(route: Route) -> None:
        route.fulfill(status=503, json={"error": "the archive does not answer"})

    address = re.compile("/api/collabs/archived")
    page.route(address, fail)
    page.goto("/collabs")
    problem = page.get_by_text("the archive does not answer")
    expect(problem).to_be_visible()
    page.unroute(address, fail)
    page.get_by_role("button", name="Show more").click()
    expect(rows(page).nth(PAGE - 1)).to_be_visible()
    expect(problem).to_be_hidden()
    tab.errors[:] = [it for it in tab.errors if "503" not in it]
