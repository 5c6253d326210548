"""What an earlier release left in the middle is finished by workers of today, each turn written once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from checks.expiry import wrong_keys
from live import result_of, until
from symposia.models.protocol.collab import CollabStatus
from symposia.schedules.schedule import RunOutcome
from upgrades.installation import UpgradeInstallation
from upgrades.releases import load_release
from upgrades.scenario import ENDS, answer_all

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

Ids = Mapping[str, str]


@pytest.fixture(scope="module")
def ids(installation: UpgradeInstallation, release: str) -> Ids:
    """Load the state of the release, start a worker, and answer the questions."""
    ids = load_release(installation, release)
    assert len(installation.client.inbox()) == 3
    assert installation.client.get_job(ids["suspended"]).status() is CollabStatus.SUSPENDED
    installation.start_worker()
    for name in (*ENDS, "schedule"):
        installation.open_gate(name)
    (installation.folder / "gate").touch()  # that of the reviewer
    installation.client.get_job(ids["suspended"]).resume()
    answer_all(installation, ids)
    return ids


@pytest.mark.parametrize("name", ENDS)
def test_session_of_an_earlier_release_ends(installation: UpgradeInstallation, ids: Ids, name: str) -> None:
    result = result_of(installation.client.get_job(ids[name]))
    turns = [it.turn_number for it in result.dialog.messages if it.turn_number]
    assert (result.reason, sorted(turns)) == (ENDS[name][0], list(range(1, ENDS[name][1] + 1)))


def test_answers_given_after_the_upgrade_are_used(installation: UpgradeInstallation, ids: Ids) -> None:
    said = {
        name: [it.content for it in said_in(installation, ids[name])]
        for name in ("question", "approval", "team")
    }
    assert said["question"][1] == "It is blue."
    assert said["approval"] == ["paid: tea, refused by ann"]
    assert said["team"][1] == "dan speaks in turn 2"


def said_in(installation: UpgradeInstallation, session: str):
    result = result_of(installation.client.get_job(session))
    return [it for it in result.dialog.messages if it.turn_number]


def test_batch_review_of_an_earlier_release_ends(installation: UpgradeInstallation, ids: Ids) -> None:
    run = result_of(installation.client.get_review(ids["review"]))
    assert (run.state.value, len(run.results), len(run.findings)) == ("completed", 3, 3)


def test_schedule_of_an_earlier_release_goes_on(installation: UpgradeInstallation, ids: Ids) -> None:
    schedules = installation.client.schedules
    records = until(
        lambda: len(found := schedules.history("daily")) == 2 and found, what="the running and the queued job"
    )
    assert {(it.id, it.outcome) for it in records} == {
        (ids[name], RunOutcome.COMPLETED) for name in ("schedule_run", "queued_run")
    }
    assert not schedules.get("daily").paused


def test_everything_of_an_earlier_release_is_archived(installation: UpgradeInstallation, ids: Ids) -> None:
    reader = installation.client.archived()
    assert reader is not None
    for name, (_, turns) in ENDS.items():
        result_of(installation.client.get_job(ids[name]))
        until(lambda name=name: reader.has_ended(ids[name]), what=f"{name} is archived")
        found = [entry for entry in reader.entries(ids[name], "dialog") if '"turn_number"' in entry[1]]
        assert len(found) == turns, name


def test_keys_of_an_earlier_release_expire(installation: UpgradeInstallation, ids: Ids) -> None:
    for name in ENDS:
        result_of(installation.client.get_job(ids[name]))
    until(lambda: not wrong_keys(installation.redis_url), what="the keys of ended sessions expire")
