"""Workers leave alone what is in a newer format, before an upgrade and after a rollback; newer workers finish it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from redis import Redis

from checks.ledger import check_truths
from live import result_of, until
from scaling import patient
from upgrades.clients import ClientRefused
from upgrades.installation import empty_installation
from upgrades.newer import SCHEDULE, Keys, NewerRelease
from upgrades.scenario import ENDS, submission
from upgrades.versions import Versions

pytestmark = [pytest.mark.long, pytest.mark.timeout(420)]


@dataclass
class Observed:
    """What was seen while the release with newer formats came, went and came again."""

    newer: NewerRelease
    #: Keys before and after older workers have met them: before the upgrade, and after the rollback.
    before_upgrade: list[Keys] = field(default_factory=list)
    after_rollback: list[Keys] = field(default_factory=list)
    #: Reason of the end of a session in the older format, which ran meanwhile.
    older: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory, versions: Versions) -> Iterator[Observed]:
    with empty_installation(tmp_path_factory.mktemp("newer")) as installation:
        observed = Observed(NewerRelease(installation, versions))
        run(observed)
        yield observed


def run(observed: Observed) -> None:
    newer, installation = observed.newer, observed.newer.installation
    newer.submit()
    released = newer.start_released()
    observed.before_upgrade.append(newer.keys())
    newer.meet(released)
    observed.before_upgrade.append(newer.keys())
    observed.older.append(run_older(newer))

    upgraded = newer.start_newer()
    until(lambda: any(map(newer.closed, newer.sessions)), timeout_s=90, what="a turn beside older workers")
    newer.stop(released)
    until(lambda: all(map(newer.closed, newer.sessions)), timeout_s=120, what="a turn of each session")

    newer.kill(upgraded)
    observed.after_rollback.append(newer.keys())
    released = newer.start_released()
    newer.meet(released)
    observed.after_rollback.append(newer.keys())
    observed.older.append(run_older(newer))

    newer.start_newer()
    newer.stop(released)
    for name in newer.sessions:
        installation.open_gate(name)
        newer.client.ask("follow", session=newer.sessions[name])
    (installation.folder / "gate").touch()  # that of the reviewer
    until(lambda: has_asked(newer), timeout_s=120, what="the question to a person")
    newer.client.ask("reply", session=newer.sessions["question"], name="ben", text="It is blue.")


def run_older(newer: NewerRelease) -> str:
    """Run a session in the format of the release, beside those that its workers leave alone."""
    newer.installation.open_gate("older")
    job = newer.installation.client.submit(**submission("round_robin", title="older"))
    return result_of(job).reason


def has_asked(newer: NewerRelease) -> bool:
    return newer.client.ask("is_asked", session=newer.sessions["question"])


def test_older_workers_change_nothing(observed: Observed) -> None:
    assert observed.before_upgrade[0] == observed.before_upgrade[1]
    assert observed.after_rollback[0] == observed.after_rollback[1]


def test_older_workers_run_older_sessions_meanwhile(observed: Observed) -> None:
    assert observed.older == ["max_turns", "max_turns"]


@pytest.mark.parametrize("name", ["round_robin", "pair", "orchestrated", "broadcast", "swarm", "question"])
def test_newer_workers_finish_each_session(observed: Observed, name: str) -> None:
    newer = observed.newer
    session = newer.sessions[name]
    seen = newer.client.ask("seen", session=session, timeout_s=patient(120))
    turns = sorted(number for number, _ in seen["messages"] if number)
    assert (seen["reason"], turns) == (ENDS[name][0], list(range(1, ENDS[name][1] + 1)))
    with Redis.from_url(newer.installation.redis_url, decode_responses=True) as client:
        assert check_truths(client, session).is_final
    lines = (newer.installation.folder / "calls.jsonl").read_text().splitlines()
    codes = {call["code"] for line in lines if (call := json.loads(line))["session"] == session}
    assert codes == {str(newer.versions.newer)}


def test_newer_workers_finish_the_review_and_run_the_schedule(observed: Observed) -> None:
    newer = observed.newer
    ended = newer.client.ask("reviewed", review=newer.review, timeout_s=patient(120))
    assert ended == ["completed", 3]
    outcomes = until(lambda: newer.client.ask("outcomes", schedule=SCHEDULE), what="runs of the schedule")
    assert "completed" in outcomes
    assert not {"failed", "cancelled"} & set(outcomes)


def test_newer_workers_archive_each_session(observed: Observed) -> None:
    newer = observed.newer
    reader = newer.installation.client.archived()
    assert reader is not None
    for name, session in newer.sessions.items():
        until(lambda session=session: reader.has_ended(session), timeout_s=120, what=f"{name} is archived")
        assert (
            len([text for _, text in reader.entries(session, "dialog") if '"turn_number"' in text])
            == (ENDS[name][1])
        )


def test_older_client_is_told_of_the_newer_version(observed: Observed) -> None:
    client = observed.newer.installation.start_client(
        "released-client", code=observed.newer.versions.released
    )
    with pytest.raises(ClientRefused, match=r"^NewerFormat: session .* was written by a newer version"):
        client.ask("status", session=observed.newer.sessions["pair"])


def test_logs_have_one_line_and_no_error(observed: Observed) -> None:
    for worker in observed.newer.workers:
        log = worker.log()
        assert not [line for line in log.splitlines() if ": ERROR/" in line or ": CRITICAL/" in line]
        assert "Traceback" not in log


def test_older_workers_hand_newer_sessions_on(tmp_path, versions: Versions) -> None:
    """Without it, a message that an older worker takes is lost, and each sweep may send the next one to another."""
    with empty_installation(tmp_path) as installation:
        newer = NewerRelease(installation, versions)
        newer.workers += [installation.start_worker(f"older-{n}", code=versions.today) for n in range(3)]
        newer.start_newer()
        sessions = {}
        for name in ("pair", "broadcast", "swarm"):
            installation.open_gate(name)
            sessions[name] = newer.client.ask("submit", session=submission(name, title=name))
            newer.client.ask("follow", session=sessions[name])
        for name, session in sessions.items():
            seen = newer.client.ask("seen", session=session, timeout_s=patient(60))
            assert (seen["reason"], seen["turns"]) == ENDS[name]
        assert "handed on to a newer worker" in "".join(it.log() for it in newer.workers[:3])
