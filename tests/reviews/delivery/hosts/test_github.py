"""A pull request of GitHub gets comments on its lines, one summary, a status, and nothing twice."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from review_tools.pulls import (
    HEAD,
    MERGE,
    NEXT,
    NUMBER,
    OTHER,
    PATCH,
    a_reviewed_pull,
    destinations,
    on_line,
    payload,
)
from review_tools.values import a_finding, a_result, a_run
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.json_server import TOKEN
from symposia.models.errors import DeliveryFailed
from symposia.models.severity import Severity
from symposia.reviews.delivery.destinations import Destinations
from symposia.reviews.delivery.hosts import api
from symposia.reviews.delivery.payload import ReportPayload
from symposia.reviews.values.findings import FindingStatus
from symposia.reviews.values.runs import ItemState, ReviewRun, RunState

KEY = on_line(2, "S105", severity=Severity.HIGH, replacement="key = read_key()")
CALL = on_line(3, "S307")
OUTSIDE = on_line(12, "E501")


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    server.commits = {HEAD: [], NEXT: [HEAD], MERGE: ["9" * 40, HEAD], OTHER: []}
    server.pulls[NUMBER] = Pull(HEAD, {"app.py": PATCH})
    yield server
    server.close()


def pulls(github: GitHub, *, token: str = TOKEN, **more: object) -> Destinations:
    entry = {
        "kind": "github",
        "api_url": github.url,
        "repository": "example/shop",
        "token_env": "HOST_TOKEN",
        "networks": ["127.0.0.0/8"],
    }
    return destinations(token, pulls={**entry, **more})


def deliver(github: GitHub, run: ReviewRun, **more: object) -> Pull:
    pulls(github, **more).deliver("pulls", payload(run))
    return github.pulls[NUMBER]


def places(pull: Pull) -> list[tuple[str, int | None, int]]:
    return [(it["path"], it["startLine"], it["line"]) for it in pull.threads]


# -- comments ---------------------------------------------------------------------------------------


def test_findings_on_changed_lines_get_comments(github):
    pull = deliver(github, a_reviewed_pull(KEY, CALL, OUTSIDE))
    assert places(pull) == [("app.py", None, 2), ("app.py", None, 3)]
    body = pull.threads[0]["comment"]["body"]
    assert body.startswith("**high** S105: S105 is broken\n\n```suggestion\nkey = read_key()\n```\n")
    assert pull.reviews == 1
    (summary,) = pull.comments
    assert "1 high, 2 medium" in summary["body"]
    assert "Findings with a comment on their line: 2." in summary["body"]
    assert "- **medium** app.py:12 E501: E501 is broken" in summary["body"]
    assert "S307" not in summary["body"]


def test_three_deliveries_leave_one_of_each(github):
    run = a_reviewed_pull(KEY, CALL, OUTSIDE)
    deliver(github, run)
    first = len(github.written)
    for _ in range(2):
        pull = deliver(github, run)
    assert (len(pull.threads), len(pull.comments)) == (2, 1)
    assert github.written[first:] == []


def test_next_run_edits_the_summary_and_marks_what_is_gone(github):
    deliver(github, a_reviewed_pull(KEY, CALL))
    pull = github.pulls[NUMBER]
    pull.push(NEXT, {"app.py": PATCH.replace("+eval(key)\n", "+safe(key)\n")})
    deliver(github, a_reviewed_pull(KEY, revision=NEXT))
    still, gone = pull.threads
    assert (still["isResolved"], gone["isResolved"]) == (False, True)
    assert gone["comment"]["body"].startswith(
        "**No longer reported** since `dddddddddddd`.\n\n**medium** S307"
    )
    assert len(pull.comments) == 1
    assert "1 high" in pull.comments[0]["body"]
    deliver(github, a_reviewed_pull(KEY, revision=NEXT))
    assert gone["comment"]["body"].count("No longer reported") == 1


def test_finding_that_returns_reopens_its_thread(github):
    deliver(github, a_reviewed_pull(KEY))
    deliver(github, a_reviewed_pull())
    (thread,) = github.pulls[NUMBER].threads
    assert thread["isResolved"]
    deliver(github, a_reviewed_pull(KEY))
    assert not thread["isResolved"]
    assert "No longer reported" not in thread["comment"]["body"]
    assert len(github.pulls[NUMBER].threads) == 1


def test_thread_that_a_person_resolved_stays_resolved(github):
    deliver(github, a_reviewed_pull(KEY))
    (thread,) = github.pulls[NUMBER].threads
    thread["isResolved"] = True
    deliver(github, a_reviewed_pull(KEY))
    assert thread["isResolved"]


def test_token_that_may_not_resolve_still_edits_the_comment(github):
    deliver(github, a_reviewed_pull(KEY))
    github.may_resolve = False
    deliver(github, a_reviewed_pull())
    (thread,) = github.pulls[NUMBER].threads
    assert (thread["isResolved"], "No longer reported" in thread["comment"]["body"]) == (False, True)


def test_comment_of_an_unreviewed_file_is_not_marked(github):
    deliver(github, a_reviewed_pull(KEY))
    failed = a_run(a_result(state=ItemState.FAILED), revision=HEAD, state=RunState.PARTIAL)
    pull = deliver(github, failed)
    assert "No longer reported" not in pull.threads[0]["comment"]["body"]
    pull.push(NEXT, {"other.py": PATCH})
    deliver(github, a_run(revision=NEXT))
    assert "No longer reported" in pull.threads[0]["comment"]["body"]


def test_equal_findings_have_a_comment_each(github):
    same = [on_line(line, "E1", message="Same") for line in (2, 3)]
    same = [it.model_copy(update={"snippet_sha": "", "quote": ""}) for it in same]
    assert len({it.fingerprint for it in same}) == 1
    pull = deliver(github, a_reviewed_pull(*same))
    assert places(pull) == [("app.py", None, 2), ("app.py", None, 3)]
    deliver(github, a_reviewed_pull(same[1]))
    assert [it["isResolved"] for it in pull.threads] == [True, False]


def test_lines_count_only_with_the_text_that_was_reviewed(github):
    moved = on_line(2, "S105").model_copy(update={"start_line": 3, "end_line": 3})
    pull = deliver(github, a_reviewed_pull(moved))
    assert pull.threads == []
    assert "app.py:3 S105" in pull.comments[0]["body"]


def test_several_lines_are_one_comment_within_a_hunk(github):
    within = on_line(2, "R1", end_line=4, replacement="x = 1\ny = 2")
    beyond = on_line(5, "R2", end_line=8, replacement="z = 1")
    pull = deliver(github, a_reviewed_pull(within, beyond))
    assert places(pull) == [("app.py", 2, 4), ("app.py", None, 5)]
    assert "```suggestion\nx = 1\ny = 2\n```" in pull.threads[0]["comment"]["body"]
    assert "suggestion" not in pull.threads[1]["comment"]["body"]


def test_refused_place_goes_to_the_summary(github):
    run = a_reviewed_pull(KEY, CALL, on_line(21, "T201"))

    def drop_second_hunk(count):
        if count == 1:  # the summary is written: a push changes the diff
            github.pulls[NUMBER].files["app.py"] = PATCH[: PATCH.index("@@ -17")]

    github.stored = drop_second_hunk
    pull = deliver(github, run)
    assert places(pull) == [("app.py", None, 2), ("app.py", None, 3)]
    (summary,) = pull.comments
    assert "app.py:21 T201" in summary["body"]
    assert "Findings with a comment on their line: 2." in summary["body"]


def test_findings_beyond_the_limits_are_in_the_summary(github):
    minor = on_line(4, "I1", severity=Severity.INFO)
    pull = deliver(github, a_reviewed_pull(KEY, CALL, minor), max_comments=1)
    assert places(pull) == [("app.py", None, 2)]
    assert all(rule in pull.comments[0]["body"] for rule in ("S307", "I1"))
    assert places(deliver(github, a_reviewed_pull(KEY, CALL, minor))) == [
        ("app.py", None, 2),
        ("app.py", None, 3),
    ]


def test_suppressed_findings_are_not_delivered(github):
    known = KEY.model_copy(update={"status": FindingStatus.SUPPRESSED})
    pull = deliver(github, a_reviewed_pull(known))
    assert pull.threads == []
    assert github.statuses[-1][1]["state"] == "success"


def test_reviewed_subfolder_is_part_of_the_path(github):
    github.pulls[NUMBER].files = {"services/shop/app.py": PATCH}
    run = a_reviewed_pull(KEY, repository_folder="services/shop")
    pull = deliver(github, run, sarif=True)
    assert places(pull) == [("services/shop/app.py", None, 2)]
    assert len(deliver(github, run).threads) == 1
    (result,) = github.sarifs[0]["sarif"]["runs"][0]["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uri"] == "services/shop/app.py"


def test_roots_have_comments_and_a_status_of_their_own(github):
    folders = ("api/src", "web/src")
    github.pulls[NUMBER].files = {f"{it}/app.py": PATCH for it in folders}
    for folder in folders:
        pull = deliver(github, a_reviewed_pull(KEY, root_name="src", repository_folder=folder))
    assert [it[0] for it in places(pull)] == ["api/src/app.py", "web/src/app.py"]
    assert len(pull.comments) == 2
    assert {it["context"] for _, it in github.statuses} == {f"symposia/code/src ({it})" for it in folders}


def test_commit_status_has_one_name_with_and_without_a_pull_request(github):
    run = a_reviewed_pull(KEY, repository_folder="api")
    deliver(github, run)
    pulls(github).deliver("pulls", ReportPayload(run))
    assert {it["context"] for _, it in github.statuses} == {"symposia/code/shop (api)"}


def test_panels_have_comments_of_their_own(github):
    deliver(github, a_reviewed_pull(KEY))
    pull = deliver(github, a_reviewed_pull(CALL, panel="security"))
    assert (len(pull.threads), len(pull.comments)) == (2, 2)
    assert not any(it["isResolved"] for it in pull.threads)
    assert {it["context"] for _, it in github.statuses} == {"symposia/code/shop", "symposia/security/shop"}


def test_comment_of_release_0_1_0_is_found_and_keeps_its_thread(github):
    pull = deliver(github, a_reviewed_pull(KEY, CALL))
    for thread in pull.threads:
        lines = thread["comment"]["body"].splitlines()
        assert lines[-2].startswith("<!-- symposia: place right ")
        thread["comment"]["body"] = "\n".join([*lines[:-2], lines[-1]])
    deliver(github, a_reviewed_pull(KEY))
    still, gone = (thread["comment"]["body"].splitlines() for thread in pull.threads)
    assert len(pull.threads) == 2
    assert still[-2].startswith("<!-- symposia: place right ")
    assert gone[-1].endswith(" gone -->")


def test_summary_is_a_walkthrough(github):
    pull = github.pulls[NUMBER]
    pull.files = {"migrations/2.py": PATCH, "app.py": PATCH, "README.md": "@@ -1 +1 @@\n-a\n+b\n"}
    pull.removed = {"old.py": "@@ -1,2 +0,0 @@\n-a\n-b\n"}
    (summary,) = deliver(github, a_reviewed_pull(KEY)).comments
    for line in (
        "**Risk: high (worst finding: high; changes stored data; 10 changed lines)**",
        "1. app.py: high finding, 3 changed lines",
        "1. migrations/2.py: stored data, 3 changed lines",
        "- old.py (+0 -2, deleted)",
    ):
        assert line in summary["body"].splitlines()


# -- many, and others -------------------------------------------------------------------------------


def test_every_page_is_read(github):
    pull = github.pulls[NUMBER]
    pull.files = {f"f{number:03}.py": PATCH for number in range(130)} | {"app.py": PATCH}
    github.page_size = 3
    for number in range(20):
        github.add_comment(NUMBER, "ann", f"A remark {number}")
        github.add_thread(NUMBER, "ann", path="app.py", line=2, body=f"A remark {number}")
    findings = [on_line(2, f"R{number}") for number in range(50)]
    for _ in range(3):
        deliver(github, a_reviewed_pull(*findings))
    assert (len(pull.threads), len(pull.comments), pull.reviews) == (70, 21, 3)


def test_markers_of_others_are_not_believed(github):
    deliver(github, a_reviewed_pull(KEY))
    pull = github.pulls[NUMBER]
    body = pull.threads[0]["comment"]["body"]
    pull.threads.clear()
    github.add_thread(NUMBER, "mallory", path="app.py", line=2, body=body)
    forged = pull.comments[0]["body"]
    pull.comments.clear()
    github.add_comment(NUMBER, "mallory", forged)
    deliver(github, a_reviewed_pull(KEY))
    assert [it["comment"]["author"] for it in pull.threads] == ["mallory", "review-bot"]
    assert [it["author"] for it in pull.comments] == ["mallory", "review-bot"]


def test_second_summary_is_deleted(github):
    pull = deliver(github, a_reviewed_pull(KEY))
    github.add_comment(NUMBER, "review-bot", pull.comments[0]["body"])
    deliver(github, a_reviewed_pull(KEY))
    assert len(pull.comments) == 1


def test_what_another_worker_wrote_meanwhile_is_not_kept_twice(github):
    run = a_reviewed_pull(KEY, CALL)
    pull = deliver(github, run)
    theirs = pull.threads[0]["comment"]["body"], pull.comments[0]["body"]
    pull.threads.clear()
    pull.comments.clear()

    def other_worker(count):
        if count == before + 1:  # the summary is written
            github.add_thread(NUMBER, "review-bot", path="app.py", line=2, body=theirs[0])
            github.add_comment(NUMBER, "review-bot", theirs[1])

    before = github.changes
    github.stored = other_worker
    deliver(github, run)
    assert places(pull) == [("app.py", None, 2), ("app.py", None, 3)]
    assert len(pull.comments) == 1


def test_finding_reported_twice_in_a_line_has_one_comment(github):
    for _ in range(2):
        pull = deliver(github, a_reviewed_pull(KEY, KEY.model_copy(), CALL))
    assert places(pull) == [("app.py", None, 2), ("app.py", None, 3)]


def test_older_run_does_not_replace_a_newer_one(github):
    old = a_reviewed_pull(CALL, started_at="2026-01-01T00:00:00.000Z")
    pull = deliver(github, a_reviewed_pull(KEY))
    before = len(github.written)
    deliver(github, old)
    assert len(github.written) == before
    assert places(pull) == [("app.py", None, 2)]


# -- status and code scanning -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fail_on", "state", "expected"),
    [
        ("low", RunState.COMPLETED, "failure"),
        ("high", RunState.COMPLETED, "failure"),
        ("critical", RunState.COMPLETED, "success"),
        ("never", RunState.COMPLETED, "success"),
        ("never", RunState.PARTIAL, "error"),
    ],
)
def test_status_follows_the_severity(github, fail_on, state, expected):
    deliver(github, a_reviewed_pull(KEY, state=state), fail_on=fail_on)
    assert [(sha, it["state"]) for sha, it in github.statuses] == [(HEAD, expected)]


@pytest.mark.parametrize(("reviewed", "commit"), [(MERGE, HEAD), ("", HEAD), (OTHER, OTHER)])
def test_status_is_for_the_commit_that_was_reviewed(github, reviewed, commit):
    deliver(github, a_reviewed_pull(KEY, revision=reviewed))
    assert [sha for sha, _ in github.statuses] == [commit]


def test_unknown_commit_is_an_error_after_the_comments(github):
    with pytest.raises(DeliveryFailed, match="HTTP 422: No commit found") as error:
        deliver(github, a_reviewed_pull(KEY, revision="7" * 40))
    assert not error.value.retryable
    assert len(github.pulls[NUMBER].threads) == 1


def test_findings_are_uploaded_to_code_scanning(github):
    deliver(github, a_reviewed_pull(KEY, OUTSIDE), sarif=True)
    (sent,) = github.sarifs
    assert (sent["ref"], sent["commit_sha"]) == (f"refs/pull/{NUMBER}/head", HEAD)
    assert [it["ruleId"] for it in sent["sarif"]["runs"][0]["results"]] == ["S105", "E501"]


def test_check_run_has_every_annotation_once(github):
    findings = [on_line(line, f"R{number}") for number in range(60) for line in (2, 3)]
    run = a_reviewed_pull(*findings, a_finding(line=0))

    def stop(count):
        if count == before + 2:  # the summary and the check run are written
            github.in_front["PATCH"] = [(502, {}, None)]

    deliver(github, run, check_run=True, max_comments=0)
    github.checks.clear()
    before, github.stored = github.changes - 1, stop
    with pytest.raises(DeliveryFailed):
        deliver(github, run, check_run=True, max_comments=0)
    for _ in range(2):
        deliver(github, run, check_run=True, max_comments=0)
    (check,) = github.checks
    check["conclusion"] = "neutral"  # an earlier delivery wrote another result
    deliver(github, run, check_run=True, max_comments=0)
    assert (check["conclusion"], check["name"]) == ("failure", "symposia/code/shop")
    titles = [it["title"] for it in check["output"]["annotations"]]
    assert len(titles) == len(set(titles)) * 2 == 120
    assert github.statuses == []


def test_check_run_of_an_incomplete_review_satisfies_no_rule(github):
    deliver(github, a_reviewed_pull(state=RunState.PARTIAL), check_run=True)
    assert [check["conclusion"] for check in github.checks] == ["failure"]


def test_missing_code_scanning_is_a_clear_error(github):
    github.has_code_scanning = False
    with pytest.raises(DeliveryFailed, match=r"HTTP 403: .*Advanced Security must be enabled") as error:
        deliver(github, a_reviewed_pull(KEY), sarif=True)
    assert not error.value.retryable
    assert github.statuses


def test_run_without_a_pull_request_reports_its_commit(github):
    run = a_reviewed_pull(KEY)
    pulls(github, sarif=True, branch="main").deliver("pulls", ReportPayload(run))
    assert [(sha, it["state"]) for sha, it in github.statuses] == [(HEAD, "failure")]
    assert github.sarifs[0]["ref"] == "refs/heads/main"
    with pytest.raises(DeliveryFailed, match="neither a pull request"):
        pulls(github).deliver("pulls", ReportPayload(a_run()))


# -- failures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "retryable", "after_s"),
    [
        ((403, {"Retry-After": "30"}, {"message": "secondary rate limit"}), True, 30),
        ((403, {}, {"message": "You have exceeded a secondary rate limit"}), True, 60),
        ((429, {}, {"message": "slow down"}), True, 60),
        ((429, {"Retry-After": "7"}, {"message": "Too many requests"}), True, 7),
        ((500, {}, None), True, None),
        ((401, {}, {"message": "Bad credentials"}), False, None),
        ((403, {}, {"message": "Resource not accessible"}), False, None),
        ((404, {}, {"message": "Not Found"}), False, None),
        ((301, {"Location": "http://127.0.0.1/"}, None), False, None),
        ((200, {}, ["unexpected"]), False, None),
        ((200, {}, None), False, None),
    ],
)
def test_failures_are_retried_only_if_that_may_help(github, answer, retryable, after_s):
    github.in_front["GET"] = [answer]
    with pytest.raises(DeliveryFailed, match=r"127\.0\.0\.1 answered") as error:
        deliver(github, a_reviewed_pull(KEY))
    assert (error.value.retryable, error.value.retry_after_s) == (retryable, after_s)
    assert github.pulls[NUMBER].comments == []


@pytest.mark.parametrize(
    ("status", "said", "after_s"),
    [
        (403, {"message": "API rate limit exceeded"}, 500),
        (200, {"errors": [{"type": "RATE_LIMIT", "message": "API rate limit already exceeded"}]}, 500),
        (200, {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit already exceeded"}]}, 500),
        (200, {"errors": [{"message": "You have exceeded a secondary rate limit"}]}, 60),
    ],
    ids=["rest", "graphql", "graphql-limited", "graphql-secondary"],
)
def test_rate_limit_names_its_end(github, status, said, after_s):
    reset = str(int(time.time()) + 500)
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset} if after_s == 500 else {}
    github.in_front["POST"] = [(status, headers, said)]
    with pytest.raises(DeliveryFailed, match=f"HTTP {status}: rate limit") as error:
        deliver(github, a_reviewed_pull(KEY))
    assert after_s - 10 < error.value.retry_after_s <= after_s


def test_token_is_in_no_error(github):
    github.in_front["GET"] = [(403, {}, {"message": f"token {TOKEN} may not do this"})]
    with pytest.raises(DeliveryFailed) as error:
        deliver(github, a_reviewed_pull(KEY))
    assert TOKEN not in str(error.value)
    for bad in ("two words", "line\nbreak", "ä"):
        with pytest.raises(DeliveryFailed, match="HOST_TOKEN must hold a token") as error:
            deliver(github, a_reviewed_pull(KEY), token=bad)
        assert bad not in str(error.value)
    with pytest.raises(DeliveryFailed, match="the token in HOST_TOKEN is not valid"):
        deliver(github, a_reviewed_pull(KEY), token="another-token")


def test_private_address_needs_an_allowed_network(github):
    with pytest.raises(DeliveryFailed, match="neither public nor"):
        deliver(github, a_reviewed_pull(KEY), networks=[])
    assert github.requests == []


def test_delivery_is_bounded_in_time_and_size(github, monkeypatch):
    monkeypatch.setattr(api, "MAX_ANSWER_BYTES", 10)
    with pytest.raises(DeliveryFailed, match="answered more than 10 bytes") as error:
        deliver(github, a_reviewed_pull(KEY))
    assert not error.value.retryable
    monkeypatch.setattr(api, "MAX_DELIVERY_S", 0)
    with pytest.raises(DeliveryFailed, match="takes longer than 0 s, continuing later") as error:
        deliver(github, a_reviewed_pull(KEY))
    assert error.value.retryable


def test_too_large_diff_leaves_findings_in_the_summary(github):
    github.pulls[NUMBER].files["app.py"] = None
    pull = deliver(github, a_reviewed_pull(KEY, a_finding(path="gone.py")))
    assert pull.threads == []
    assert "app.py:2 S105" in pull.comments[0]["body"]
