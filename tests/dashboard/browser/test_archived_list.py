"""Sessions that only the archive has, in the list of a browser."""

from __future__ import annotations

import re
import zipfile
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

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
    return open_tab(f"/collabs?q={quote(TITLE)}&per_page={PAGE}").page


def rows(page: Page) -> Locator:
    return page.locator("#rows tr")


def titles(page: Page) -> list[str]:
    return rows(page).locator(".collab-title").all_inner_texts()


def test_archived_sessions_are_counted_paged_and_opened(gated_sessions, archived, session_list):
    page = session_list
    old = [f"{TITLE} old {number}" for number in reversed(range(OLD))]
    assert titles(page) == [TITLE, *old][:PAGE]
    expect(page.locator("#pager")).to_contain_text(f"of {OLD + 1}")
    expect(page.locator("#covers")).to_contain_text("live and archived")
    for name, count in {
        "all": OLD + 1,
        "completed": OLD // 2 + 1,
        "cancelled": OLD // 2,
        "failed": 0,
    }.items():
        expect(page.locator("#tabs").get_by_role("link", name=f"{count} {name}", exact=True)).to_be_visible()
    page.get_by_role("link", name="Next →").click()
    expect(rows(page)).to_have_count(OLD + 1 - PAGE)
    assert titles(page) == [TITLE, *old][PAGE:]
    page.go_back()

    gated_sessions.title = f"{TITLE}, again"
    running = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2))
    expect(rows(page).first).to_have_id(f"row-{running.id}")
    expect(rows(page).first.locator(".c-now")).to_have_text("ann")
    expect(rows(page)).to_have_count(PAGE)
    expect(page.locator("#pager")).to_contain_text(f"of {OLD + 2}")
    gated_sessions.open_gate()

    page.locator(f"#row-{archived.id}").get_by_role("link", name=TITLE).click()
    expect(page.locator("#health")).to_contain_text("Ended")
    expect(page.locator("#turns .said")).to_have_text(["ann speaks in turn 1", "bob speaks in turn 2"])
    expect(page.locator("#turns > .turn")).to_have_count(2)


def test_archived_sessions_are_filtered(session_list):
    page, pager = session_list, session_list.locator("#pager")
    page.locator("#tabs").get_by_role("link", name="completed").click()
    expect(pager).to_contain_text(re.compile(f"of {OLD // 2 + 1}|of {OLD // 2 + 2}"))
    page.get_by_text("More filters").click()
    page.get_by_label("Mode").select_option("pair")
    expect(pager).to_contain_text(f"of {OLD // 2}")
    page.get_by_label("Search").fill(f"{TITLE} old 7")
    page.get_by_label("Search").press("Enter")
    expect(rows(page)).to_have_count(1)
    page.go_back()
    expect(pager).to_contain_text(f"of {OLD // 2}")
    page.get_by_label("Search").fill(f"{TITLE} none")
    page.get_by_role("button", name="Apply").click()
    empty = page.get_by_role("region", name="No session")
    expect(empty).to_contain_text("No session matches")
    expect(empty).to_contain_text("status completed")
    empty.get_by_role("link", name="Remove all filters").click()
    expect(page).to_have_url(re.compile("/collabs$"))


def test_selection_of_all_that_match_is_exported(session_list, tmp_path):
    page = session_list
    page.goto(f"/collabs?q={quote(TITLE)} old 12")
    rows(page).first.get_by_role("checkbox").check()
    page.get_by_role("link", name="Select all 11 that match").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "sessions.zip")
    assert len(zipfile.ZipFile(tmp_path / "sessions.zip").namelist()) == 11
