"""A schedule reviews the open pull requests of a code host: each at its newest commit, once."""

from __future__ import annotations

from typing import ClassVar

import pytest

from live import until
from review_tools.open_pulls import CodeHost
from review_tools.schedules import ScheduleInstallation
from servers.code_hosts.github import GitHub
from servers.code_hosts.json_server import TOKEN
from symposia.cli.doctor.checks import _deliveries
from symposia.config.settings import load_settings
from symposia.models.errors import InvalidInput
from symposia.models.text.ids import new_id
from symposia.reviews.delivery.destinations import Destinations
from symposia.reviews.scheduled_pulls import MAX_FAILURES, ScheduledPulls, _is_reviewed, _remembered, _series
from symposia.reviews.scheduled_reviews import ScheduledReview
from symposia.reviews.state.reviewed_pulls import PullReview, PullsRun
from symposia.schedules.schedule import (
    RunOutcome,
    Schedule,
    ScheduleRun,
    ScheduleRunProgress,
    ScheduleRunRecord,
)
from symposia.state.redis.connect import connect

DEADLINE_S = 60
RUN = ScheduleRun(id="3f0c8f55-6f0c-4a58-9c2f-0a4d8b0f6a01", due_ms=1)


def run(installation: ScheduleInstallation) -> ScheduleRunRecord:
    """Run the schedule now, and return the record of its end."""
    schedules = installation.client.schedules
    run_id = schedules.run_now("pulls")
    records = until(
        lambda: [entry for entry in schedules.history("pulls") if entry.id == run_id],
        timeout_s=DEADLINE_S,
        what="the run has ended",
    )
    return records[0]


@pytest.mark.long
@pytest.mark.timeout(240)
def test_each_commit_of_a_pull_request_is_reviewed_once(installation, host):
    host.push(5, "five\n")
    host.push(7, "seven\n")
    host.open(6, "6" * 40)  # its reference is missing
    installation.start_worker()
    review = {"panel": "at_once", "root": "shop", "deliver": ["pulls"], "open_pull_requests": "pulls"}
    installation.client.schedules.add("pulls", cron="@yearly", review=review)

    def await_summaries(**texts: str) -> None:
        for name, text in texts.items():
            until(
                lambda: text in host.summary(int(name[1:])),  # noqa: B023 - called at once
                timeout_s=DEADLINE_S,
                what=f"{text!r} in pull request {name[1:]}",
            )

    first = run(installation)
    assert (first.outcome, first.detail[:44]) == (
        RunOutcome.PARTIAL,
        "pull requests: 2 completed, 1 failed; 6: git",
    )
    await_summaries(n5="change5.txt", n6="git fetch failed", n7="change7.txt")
    assert "cart.txt" not in host.summary(5), "files of the base are not reviewed"
    asked = [f"{path} {body}" for _, path, body in host.server.requests]
    assert any("closes_issues" in line or "closingIssuesReferences" in line for line in asked)

    statuses = host.server.statuses  # written last
    until(lambda: len(statuses) == 3, timeout_s=DEADLINE_S, what="three statuses")
    again = run(installation)
    assert (again.outcome, again.detail[:27]) == (RunOutcome.FAILED, "pull requests: 1 failed; 6:")
    host.push(5, "five more\n")
    host.push(6, "six\n")
    third = run(installation)
    assert (third.outcome, third.detail) == (RunOutcome.COMPLETED, "pull requests: 2 completed")
    await_summaries(n6="change6.txt")
    until(
        lambda: len(statuses) == 5, timeout_s=DEADLINE_S, what="two statuses; the same failure has no second"
    )
    assert run(installation).detail == "pull requests: none is new"


@pytest.fixture
def schedule(installation: ScheduleInstallation) -> Schedule:
    review = {"panel": "at_once", "root": "shop", "open_pull_requests": "pulls"}
    return installation.client.schedules.add("pulls", cron="@yearly", review=review).schedule


@pytest.fixture
def outages() -> list[bool]:
    """Whether reading the token fails, the next time last."""
    return []


@pytest.fixture
def pulls(
    installation: ScheduleInstallation,
    host: CodeHost,
    outages: list[bool],
    monkeypatch: pytest.MonkeyPatch,
) -> ScheduledPulls:
    """The reviews of this process."""
    monkeypatch.chdir(installation.folder)
    context = installation.client._installation.reviews
    hosts = Destinations.load(None, getenv={"HOST_TOKEN": TOKEN}.get)

    def git_token() -> None:
        if outages and outages.pop():
            raise ConnectionError

    reviews = ScheduledReview(lambda: context, {"shop": installation.folder / "shop"}, git_token=git_token)
    return ScheduledPulls(lambda: context, reviews, lambda: hosts)


@pytest.mark.leaves_keys  # no worker ends the review
@pytest.mark.parametrize("host", [GitHub], indirect=True)
def test_repeated_start_starts_nothing_twice(installation, host, pulls, schedule):
    host.push(5, "five\n")
    for _ in range(2):
        pulls.start(schedule, RUN)
    (listed,) = installation.client.reviews().items
    assert (listed.root_name, listed.state) == ("shop", "running")
    assert pulls.progress(schedule, RUN).outcome is None
    pulls.cancel(schedule, RUN)
    assert installation.client._installation.reviews.store.view(listed.id).state == "stopping"


@pytest.mark.leaves_keys
@pytest.mark.parametrize("host", [GitHub], indirect=True)
def test_commit_pushed_between_two_starts_is_left_for_the_next_run(
    installation, host, outages, pulls, schedule
):
    host.push(5, "five\n")
    host.push(7, "seven\n")
    outages += [True, False]  # the start of 7 fails
    with pytest.raises(ConnectionError):
        pulls.start(schedule, RUN)
    assert pulls.progress(schedule, RUN) is None
    host.push(5, "five more\n")
    pulls.start(schedule, RUN)
    context = installation.client._installation.reviews
    run = context.pulls.run(RUN.id)
    assert ([review.number for review in run.reviews], run.left) == ([5, 7], 1)
    pulls.cancel(schedule, RUN)
    states = {item.id: item.state for item in installation.client.reviews().items}
    assert states == {review.batch_id: "stopping" for review in run.reviews}


@pytest.mark.parametrize("host", [GitHub], indirect=True)
def test_pull_request_pushed_after_the_list_is_left_for_the_next_run(host, pulls, schedule):
    host.push(5, "five\n")
    host.open(5, "5" * 40)
    pulls.start(schedule, RUN)
    progress = pulls.progress(schedule, RUN)
    assert (progress.outcome, progress.detail) == (
        RunOutcome.COMPLETED,
        "pull requests: 1 left for the next run",
    )


@pytest.mark.parametrize("host", [GitHub], indirect=True)
def test_cancelled_run_remembers_what_has_ended(installation, host, pulls, schedule):
    """The batches of three reviews: ended, running, unknown."""
    ended, running, unknown = reviews = [
        PullReview(number=number, head="a", batch_id=new_id()) for number in (5, 6, 7)
    ]
    progress = {
        ended.batch_id: ScheduleRunProgress(RunOutcome.FINDINGS),
        running.batch_id: ScheduleRunProgress(),
    }

    class Batches:
        cancelled: ClassVar[list[str]] = []

        def progress(self, _schedule, run):
            return progress.get(run.id)

        def cancel(self, _schedule, run):
            self.cancelled.append(run.id)

    stored = installation.client._installation.reviews.pulls
    stored.save_run(RUN.id, PullsRun(reviews=tuple(reviews)))
    pulls._reviews = Batches()
    pulls.cancel(schedule, RUN)
    assert stored.last(_series(schedule)) == {5: ended}
    assert Batches.cancelled == [running.batch_id, unknown.batch_id]


@pytest.mark.parametrize(("maximum", "remembered"), [(9, {5, 6}), (2, {5, 6, 7})])
@pytest.mark.parametrize("host", [GitHub], indirect=True)
def test_drafts_and_pull_requests_that_are_not_listed_stay_reviewed(
    installation, host, pulls, schedule, monkeypatch, maximum, remembered
):
    monkeypatch.setattr("symposia.reviews.scheduled_pulls.MAX_OPEN", maximum)
    for number in (5, 6):
        host.open(number, f"{number}" * 40)
    host.server.pulls[5].more = {"draft": True}
    reviewed = installation.client._installation.reviews.pulls
    reviews = [PullReview(number=number, head=f"{number}" * 40) for number in (5, 6, 7)]
    reviewed.remember(_series(schedule), reviews, closed=())
    pulls.start(schedule, RUN)
    assert reviewed.last(_series(schedule)).keys() == remembered


def test_failing_review_of_a_commit_is_repeated_twice():
    failed = ScheduleRunProgress(RunOutcome.FAILED, detail="no answer")
    review, tries = PullReview(number=5, head="a"), 0
    while tries == 0 or not _is_reviewed(review):
        review, tries = _remembered(review.model_copy(update={"error": ""}), failed), tries + 1
    assert (tries, review.error) == (MAX_FAILURES, "no answer")


def test_options_of_one_revision_are_refused(installation):
    review = {"panel": "code", "root": "shop", "open_pull_requests": "pulls"}
    for name, value in (("base", "main"), ("since", "HEAD"), ("pull_request", 5), ("update", True)):
        with pytest.raises(InvalidInput, match=f"`{name}` cannot be combined with `open_pull_requests`"):
            installation.client.schedules.add("pulls", every=900, review={**review, name: value})
    with pytest.raises(InvalidInput, match="`open_pull_requests` requires `root`"):
        installation.client.schedules.add(
            "pulls", every=900, review={"panel": "code", "sessions": {}, "open_pull_requests": "pulls"}
        )


@pytest.mark.parametrize("host", [GitHub], indirect=True)
def test_doctor_names_a_schedule_without_token(installation, host, monkeypatch):
    review = {"panel": "at_once", "root": "shop", "open_pull_requests": "pulls"}
    installation.client.schedules.add("pulls", every=900, review=review)
    settings = load_settings(**installation.settings, deliveries_file=installation.folder / "deliveries.toml")

    def problems() -> list[str]:
        checks = _deliveries(connect(installation.redis_url), settings)
        return [check.text for check in checks if check.subject == "schedules"]

    assert problems() == []
    monkeypatch.delenv("HOST_TOKEN")
    assert problems() == [
        "pulls cannot list pull requests: pulls: environment variable HOST_TOKEN is not set"
    ]
