"""Scheduled reviews: a panel reviews a named root and the history records the result."""

from __future__ import annotations

import pytest

from live import until
from symposia.cli.doctor.checks import _schedules
from symposia.cli.reviews.options import OF_ANY_REVIEW, OF_FILES
from symposia.models.errors import InvalidInput
from symposia.models.text.ids import new_id
from symposia.reviews.scheduled_reviews import ScheduledReview
from symposia.schedules.recurrence import Recurrence
from symposia.schedules.schedule import ReviewAction, RunOutcome, Schedule, ScheduleRun
from symposia.state.redis.connect import connect

DEADLINE_S = 60


def records(installation, name, *, count):
    schedules = installation.client.schedules
    return until(
        lambda: len(found := schedules.history(name)) >= count and found,
        timeout_s=DEADLINE_S,
        what=f"{count} occurrences of {name}",
    )


@pytest.mark.long
@pytest.mark.timeout(150)
def test_scheduled_review_uses_the_id_of_its_run(installation):
    installation.write_shop()
    client = installation.client
    # Added while no worker can refuse them.
    (installation.folder / "deliveries.toml").write_text(
        f'[shelf]\nkind = "folder"\nfolder = "{installation.folder / "shelf"}"\n'
    )
    client.schedules.add(
        "lost", cron="@yearly", review={"panel": "at_once", "root": "attic", "deliver": ["shelf"]}
    )
    client.schedules.add("idle", cron="@yearly", review={"panel": "nobody", "root": "shop"})
    installation.start_worker()
    looks = {"panel": "at_once", "root": "shop", "fail_on": "high"}
    client.schedules.add("nightly", cron="@yearly", review=looks)
    mine = client.schedules.run_now("nightly")
    (record,) = records(installation, "nightly", count=1)
    assert (record.id, record.outcome, record.by_hand) == (mine, RunOutcome.FINDINGS, True)
    assert record.detail.startswith("Review of shop by at_once: 2 high")
    run = client.get_review(mine).run()
    assert sorted(it.path for it in run.findings) == ["cart.txt", "till.txt"]

    client.schedules.add("nightly", cron="@yearly", review={**looks, "include": ["cart*"]}, replace=True)
    run = client.get_review(client.schedules.run_now("nightly"))
    records(installation, "nightly", count=2)
    assert [it.path for it in run.run().findings] == ["cart.txt"]

    for name, rule in (
        ("lost", "root: must be a root of SYMPOSIA_REVIEW_ROOTS: shop (got 'attic')"),
        ("idle", "panel: must be a panel: "),
    ):
        client.schedules.run_now(name)
        (record,) = records(installation, name, count=1)
        assert (record.outcome, record.detail[: len(rule)]) == (RunOutcome.FAILED, rule)
        entry = client.schedules.get(name)
        assert (entry.failures, entry.problem) == (1, f"failed 1 time in a row: {record.detail}")
        assert entry.to_json()["problem"] == entry.problem
    (summary,) = until(
        lambda: list((installation.folder / "shelf").glob("attic-at_once/2*/summary.txt")),
        timeout_s=DEADLINE_S,
        what="the failure is delivered",
    )
    assert "must be a root of SYMPOSIA_REVIEW_ROOTS" in summary.read_text()
    assert [it.text for it in _schedules(connect(installation.redis_url)) if it.subject == "schedules"] == [
        f"{name} {client.schedules.get(name).problem}" for name in ("idle", "lost")
    ]


@pytest.mark.long
@pytest.mark.timeout(150)
def test_a_newer_review_cancels_the_older_one(installation):
    installation.write_shop()
    installation.start_worker()
    schedules = installation.client.schedules
    schedules.add("often", every=3, review={"panel": "slow", "root": "shop"}, overlap="cancel")
    until(
        lambda: sum(it.outcome is RunOutcome.CANCELLED for it in schedules.history("often")) >= 2,
        timeout_s=DEADLINE_S,
        what="two were cancelled",
    )
    (installation.folder / "gate").touch()
    until(
        lambda: any(it.outcome is RunOutcome.COMPLETED for it in schedules.history("often")),
        timeout_s=DEADLINE_S,
        what="one is done in time",
    )
    schedules.remove("often")


class _Roots(dict):
    """Roots of a slow starter: while it looks for its root, another worker has started the same run."""

    def __init__(self, meanwhile):
        super().__init__()
        self.meanwhile = meanwhile

    def get(self, *_):
        self.meanwhile()


@pytest.mark.parametrize("also_fails", [False, True])
def test_replaced_starter_does_not_stop_the_batch_of_the_next(installation, monkeypatch, also_fails):
    installation.write_shop()
    monkeypatch.chdir(installation.folder)
    reviews = installation.client._installation.reviews
    schedule = Schedule(
        name="nightly",
        when=Recurrence(cron="@yearly"),
        review=ReviewAction(panel="at_once", root="attic" if also_fails else "shop"),
    )
    due = ScheduleRun(id=new_id(), due_ms=1)
    second = ScheduledReview(lambda: reviews, {"shop": installation.folder / "shop"})
    first = ScheduledReview(lambda: reviews, _Roots(lambda: second.start(schedule, due)))
    first.start(schedule, due)
    view = reviews.store.view(due.id)
    assert (view.state, view.total) == (("failed", 0) if also_fails else ("running", 2))
    if also_fails:
        assert view.reason.startswith("root: must be a root of SYMPOSIA_REVIEW_ROOTS: shop")
    second.start(schedule, due)
    assert reviews.store.view(due.id) == view


def test_unknown_report_format_is_refused(installation):
    with pytest.raises(InvalidInput, match=r"review\.formats: must be one of markdown, html"):
        installation.client.schedules.add(
            "nightly", cron="@daily", review={"panel": "code", "root": "shop", "formats": ["pdf"]}
        )


def test_every_option_of_a_review_is_a_field_of_a_schedule():
    own = {"everything": True, "no_config": True, "include": ["*.py"], "exclude": ["t"], "config": ["a.toml"]}
    numbers = {"max_tokens": 5, "max_usd": 0.5, "parallel": 2, "min_confidence": 0.5, "pull_request": 3}
    numbers["batch_api"] = False
    for name in (*OF_FILES, *OF_ANY_REVIEW):
        value = {**own, **numbers}.get(name, "name" if name != "repository_url" else "https://a.b/c/d")
        action = ReviewAction(panel="code", root="shop", **{name: value})
        assert action.to_wire()[name] == value
    stored = ReviewAction(panel="code", root="shop").to_wire()
    assert set(stored) <= FIELDS_OF_0_1_0, "workers of that release refuse other fields"


#: Fields of a review in the schedules of release 0.1.0.
FIELDS_OF_0_1_0 = {
    *("panel", "root", "sessions", "model", "include", "exclude", "since_last", "base", "formats", "deliver"),
    *("only_on_change", "fail_on", "against"),
}
