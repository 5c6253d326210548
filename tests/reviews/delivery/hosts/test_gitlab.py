"""A merge request of GitLab gets discussions on its lines, one summary, a status, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from review_tools.pulls import (
    HEAD,
    MERGE,
    NEXT,
    NUMBER,
    PATCH,
    a_reviewed_pull,
    destinations,
    on_line,
    payload,
)
from servers.code_hosts.gitlab import GitLab, MergeRequest
from servers.code_hosts.json_server import TOKEN
from symposia.models.errors import DeliveryFailed
from symposia.models.severity import Severity
from symposia.reviews.delivery.payload import ReportPayload
from symposia.reviews.values.runs import ReviewRun, RunState

KEY = on_line(2, "S105", severity=Severity.HIGH, end_line=3, replacement="key = read_key()")
UNCHANGED = on_line(4, "N816")
OUTSIDE = on_line(12, "E501")


@pytest.fixture
def gitlab() -> Iterator[GitLab]:
    server = GitLab()
    server.commits = {HEAD: [], NEXT: [HEAD], MERGE: ["9" * 40, HEAD]}
    server.merge_requests[NUMBER] = MergeRequest(HEAD, {"app.py": PATCH})
    yield server
    server.close()


def merges(gitlab: GitLab, **more: object):
    entry = {
        "kind": "gitlab",
        "api_url": gitlab.url,
        "project": "example/shop",
        "token_env": "HOST_TOKEN",
        "networks": ["127.0.0.0/8"],
    }
    return destinations(TOKEN, merges={**entry, **more})


def deliver(gitlab: GitLab, run: ReviewRun, **more: object) -> MergeRequest:
    merges(gitlab, **more).deliver("merges", payload(run))
    return gitlab.merge_requests[NUMBER]


def lines(found: MergeRequest) -> list[tuple[int | None, int]]:
    positions = [it["notes"][0]["position"] for it in found.threads]
    return [(it.get("old_line"), it["new_line"]) for it in positions]


def test_findings_on_changed_lines_get_discussions(gitlab):
    found = deliver(gitlab, a_reviewed_pull(KEY, UNCHANGED, OUTSIDE))
    assert lines(found) == [(None, 3), (2, 4)]
    note = found.threads[0]["notes"][0]
    assert "```suggestion:-1+0\nkey = read_key()\n```" in note["body"]
    ends = note["position"]["line_range"]
    assert [(ends[name]["new_line"], ends[name]["line_code"][40:]) for name in ("start", "end")] == [
        (2, "_2_2"),
        (3, "_2_3"),
    ]
    (summary,) = found.notes
    assert "app.py:12 E501" in summary["body"]
    assert [(sha, it["state"], it["name"]) for sha, it in gitlab.statuses] == [
        (HEAD, "failed", "symposia/code/shop")
    ]


def test_three_deliveries_leave_one_of_each(gitlab):
    run = a_reviewed_pull(KEY, UNCHANGED, OUTSIDE)
    for _ in range(3):
        found = deliver(gitlab, run)
    assert (len(found.threads), len(found.notes), len(gitlab.statuses)) == (2, 1, 1)


def test_gone_findings_are_marked_and_return(gitlab):
    deliver(gitlab, a_reviewed_pull(KEY, UNCHANGED))
    found = deliver(gitlab, a_reviewed_pull(UNCHANGED))
    gone, still = (it["notes"][0] for it in found.threads)
    assert (gone["resolved"], still["resolved"]) == (True, False)
    assert gone["body"].startswith("**No longer reported**")
    deliver(gitlab, a_reviewed_pull(KEY, UNCHANGED))
    assert (gone["resolved"], "No longer reported" in gone["body"]) == (False, False)
    assert (len(found.threads), len(found.notes)) == (2, 1)


def test_token_that_may_not_resolve_still_edits_the_note(gitlab):
    deliver(gitlab, a_reviewed_pull(KEY))
    gitlab.may_resolve = False
    found = deliver(gitlab, a_reviewed_pull())
    note = found.threads[0]["notes"][0]
    assert (note["resolved"], "No longer reported" in note["body"]) == (False, True)


def test_refused_position_goes_to_the_summary(gitlab):
    def push(count):
        if count == 1:  # the summary is written
            gitlab.merge_requests[NUMBER].files = {"app.py": PATCH[: PATCH.index("@@ -17")]}

    gitlab.stored = push
    found = deliver(gitlab, a_reviewed_pull(KEY, on_line(21, "T201")))
    assert lines(found) == [(None, 3)]
    assert "app.py:21 T201" in found.notes[0]["body"]


def test_every_page_is_read(gitlab):
    found = gitlab.merge_requests[NUMBER]
    found.files = {f"f{number:03}.py": PATCH for number in range(130)} | {"app.py": PATCH}
    for number in range(150):
        gitlab.add(NUMBER, 3, f"A remark {number}")
    for _ in range(3):
        deliver(gitlab, a_reviewed_pull(KEY))
    assert (len(found.threads), len(found.notes)) == (1, 151)


def test_markers_of_others_are_not_believed(gitlab):
    found = deliver(gitlab, a_reviewed_pull(KEY))
    body = found.threads[0]["notes"][0]["body"]
    found.discussions.clear()
    gitlab.add(NUMBER, 3, body, position={"new_path": "app.py", "new_line": 2})
    assert len(deliver(gitlab, a_reviewed_pull(KEY)).threads) == 2


def test_what_another_worker_wrote_meanwhile_is_not_kept_twice(gitlab):
    run = a_reviewed_pull(KEY)
    found = deliver(gitlab, run)
    theirs = [it["notes"][0] for it in found.discussions]
    found.discussions.clear()

    def other_worker(count):
        if count == before + 1:  # the summary is written
            for note in theirs:
                more = {"position": note["position"]} if "position" in note else {}
                gitlab.add(NUMBER, 7, note["body"], **more)

    before = gitlab.changes
    gitlab.stored = other_worker
    deliver(gitlab, run)
    assert (len(found.threads), len(found.notes)) == (1, 1)


def test_status_is_for_the_head_of_a_merged_result(gitlab):
    deliver(gitlab, a_reviewed_pull(revision=MERGE))
    deliver(gitlab, a_reviewed_pull(revision=MERGE, state=RunState.PARTIAL))
    assert [(sha, it["state"]) for sha, it in gitlab.statuses] == [(HEAD, "success"), (HEAD, "failed")]


def test_run_without_a_merge_request_reports_its_commit(gitlab):
    merges(gitlab).deliver("merges", ReportPayload(a_reviewed_pull(KEY)))
    assert [(sha, it["state"]) for sha, it in gitlab.statuses] == [(HEAD, "failed")]


def test_merge_request_without_a_diff_is_retried(gitlab):
    gitlab.merge_requests[NUMBER].is_prepared = False
    with pytest.raises(DeliveryFailed, match="has not prepared the diff of merge request 5 yet") as error:
        deliver(gitlab, a_reviewed_pull(KEY))
    assert error.value.retryable
