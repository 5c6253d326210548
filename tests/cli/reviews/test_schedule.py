"""`symposia schedule`: what a person types, what it prints, and how it exits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from processes.terminal import Terminal
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect


def add(terminal: Terminal, *options: str, name: str = "nightly") -> tuple[int, str]:
    said = terminal.call("schedule", "add", name, *options)
    return said.code, said.out + said.err


def test_nightly_review_uses_its_time_zone(terminal):
    code, text = add(
        terminal, "--cron", "0 3 * * *", "--tz", "Asia/Tokyo", "--review", "app", "--panel", "code"
    )
    assert code == 0
    assert text.startswith("nightly: review app by code, 0 3 * * * (Asia/Tokyo); next run ")
    assert text.strip().endswith("03:00:00 JST")
    (entry,) = terminal.call("schedule", "list", "--json").json()
    assert entry["review"]["root"] == "app"
    assert datetime.fromisoformat(entry["next_due"]).astimezone(UTC).hour == 18


def test_weekly_review_of_sessions_is_added(terminal):
    options = ("--tag", "support", "--newest", "50", "--panel", "document")
    code, text = add(terminal, "--cron", "@weekly", "--review-sessions", *options)
    assert (code, text.split(",")[0]) == (0, "nightly: review archived sessions by document")
    (entry,) = terminal.call("schedule", "list", "--json").json()
    assert entry["review"]["sessions"] == {"tag": "support", "newest": 50}


def test_job_schedule_is_added_and_listed(terminal):
    code, text = add(terminal, "--every", "15m", "--job", "standup", "--overlap", "queue", "--missed", "once")
    assert (code, text.split(";")[0]) == (0, "nightly: job standup, every 15m")
    listed = terminal.call("schedule", "list").out
    assert "job standup" in listed
    assert "every 15m" in listed


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--job", "x"), "when: must have exactly one of `cron` and `every`"),
        (
            ("--job", "x", "--cron", "@daily", "--every", "1m"),
            "when: must have exactly one of `cron` and `every`",
        ),
        (("--every", "1m"), "must have exactly one of `review` and `job`"),
        (("--every", "1m", "--job", "x", "--review", "y"), "must have exactly one of `review` and `job`"),
        (("--every", "often", "--job", "x"), "when.every: must be a duration such as 30s"),
        (("--every", "0", "--job", "x"), "when.every: must be greater than or equal to 1"),
        (("--cron", "0 25 * * *", "--job", "x"), "when.cron: is not a valid hour: use 0 to 23"),
        (("--cron", "@daily", "--tz", "Mars/Phobos", "--job", "x"), "when.zone: must be a time zone"),
        (("--cron", "@daily", "--tz", "../UTC", "--job", "x"), "when.zone: must be a time zone"),
        (("--every", "1m", "--job", "/etc/passwd"), "job: must match pattern"),
        (("--every", "1m", "--review", "../../etc"), "review.root: must match pattern"),
        (("--every", "1m", "--review", "y", "--tag", "x"), "must have exactly one of `root` and `sessions`"),
        (("--every", "1m", "--review-sessions", "--base", "main"), "`base` requires `root`"),
        (("--every", "1m", "--job", "x", "--grace", "5"), "grace_s: must be greater than or equal to 10"),
    ],
)
def test_invalid_schedule_is_refused_in_one_line(terminal, options, rule):
    code, text = add(terminal, *options)
    assert (code, text.count("\n")) == (2, 1)
    assert rule in text
    assert terminal.call("schedule", "list", "--json").json() == []


def test_schedule_name_is_unique_unless_replaced(terminal):
    assert add(terminal, "--every", "1h", "--job", "x")[0] == 0
    code, text = add(terminal, "--every", "2h", "--job", "x")
    assert (code, "name: is already used" in text) == (2, True)
    assert add(terminal, "--every", "2h", "--job", "x", "--replace")[0] == 0
    (entry,) = terminal.call("schedule", "list", "--json").json()
    assert entry["when"]["every"] == 7_200


def test_schedule_is_paused_resumed_and_removed(terminal):
    add(terminal, "--every", "1h", "--job", "x")
    assert terminal.call("schedule", "pause", "nightly").code == 0
    (entry,) = terminal.call("schedule", "list", "--json").json()
    assert (entry["paused"], entry["next_due"]) == (True, None)
    assert "next run 2" in terminal.call("schedule", "resume", "nightly").out
    assert terminal.call("schedule", "history", "nightly").out == "No runs yet.\n"
    assert terminal.call("schedule", "remove", "nightly").code == 0
    assert "No schedules" in terminal.call("schedule", "list").out


@pytest.mark.parametrize("command", ["pause", "resume", "remove", "run-now", "history"])
def test_unknown_schedule_is_reported(terminal, command):
    said = terminal.call("schedule", command, "nightly")
    assert (said.code, said.err) == (3, "symposia: schedule 'nightly' not found\n")


def test_immediate_run_waits_for_a_worker(terminal):
    add(terminal, "--every", "1h", "--job", "x")
    first = terminal.call("schedule", "run-now", "nightly").out.strip()
    terminal.call("schedule", "run-now", "nightly", "--json").json()
    (entry,) = terminal.call("schedule", "list", "--json").json()
    assert (entry["running"], entry["queued"]) == (first, 1)
    shown = terminal.call("schedule", "history", "nightly").out
    assert shown == f"Now: running {first[:8]}, 1 waiting.\n"


@pytest.fixture
def worked(terminal, redis_url):
    """The terminal, with a worker that has announced what it offers."""
    with connect(redis_url) as client:
        offers = {"roots": ["shop"], "jobs": ["standup"], "panels": ["code", "document"]}
        WorkerPresence(client).announce("w1@here", ["coder", "echo"], offers)
        yield terminal


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--job", "stand"), "job: must be a job of the workers (SYMPOSIA_JOBS): standup; after a change of"),
        (("--review", "shed"), "review.root: must be a root of the workers (SYMPOSIA_REVIEW_ROOTS): shop"),
        (("--review", "shop", "--panel", "cod"), "review.panel: must be a panel of the workers: code"),
        (
            ("--review", "shop", "--model", "codr"),
            "review.model: must be a registered agent, did you mean coder",
        ),
    ],
)
def test_names_that_no_worker_knows_are_refused(worked, options, rule):
    code, text = add(worked, "--every", "1h", *options)
    assert (code, text.count("\n")) == (2, 1)
    assert rule in text
    assert worked.call("schedule", "list", "--json").json() == []


def test_names_that_a_worker_knows_are_accepted(worked):
    assert add(worked, "--every", "1h", "--job", "standup")[0] == 0
    options = ("--review", "shop", "--panel", "document", "--model", "coder")
    assert add(worked, "--every", "1h", *options, name="weekly")[0] == 0
