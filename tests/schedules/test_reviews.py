"""Scheduled reviews: a panel reviews a named root and the history records the result."""

from __future__ import annotations

import pytest

from live import until
from symposia.models.errors import InvalidInput
from symposia.schedules.schedule import RunOutcome

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
    client.schedules.add("lost", cron="@yearly", review={"panel": "at_once", "root": "attic"})
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


def test_unknown_report_format_is_refused(installation):
    with pytest.raises(InvalidInput, match=r"review\.formats: must be one of markdown, html"):
        installation.client.schedules.add(
            "nightly", cron="@daily", review={"panel": "code", "root": "shop", "formats": ["pdf"]}
        )
