"""Workers, beats and clients of a release and of today run at the same time, one replacing the other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from checks.ledger import Ledger, check_truths, session_ids
from live import result_of, until
from symposia.schedules.schedule import RunOutcome
from symposia.tasks.runtime.archiving import HOLD_MS
from upgrades.installation import empty_installation
from upgrades.rolling import RollingRestart
from upgrades.scenario import ENDS
from upgrades.versions import Versions, digests_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
#: Modes whose turns follow each other.
ONE_BY_ONE = {"round_robin", "pair", "question"}


@pytest.fixture(scope="module", params=["upgrade", "rollback by SIGKILL"])
def rolled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, versions: Versions
) -> Iterator[RollingRestart]:
    """Replace all workers and the beat, one by one, while sessions run; let all sessions end.

    That workers of today finish the turns of killed ones of the release is in `test_live_sessions.py`.
    """
    order = (versions.released, versions.today)
    before, after = reversed(order) if "rollback" in request.param else order
    with empty_installation(tmp_path_factory.mktemp("rolling")) as installation:
        if "SIGKILL" not in request.param:
            # Release 0.1.0 does not renew the lease while it imports the libraries of an agent.
            installation.lease_s = 15
        restart = RollingRestart(installation, before, after, kill="SIGKILL" in request.param)
        restart.run()
        yield restart


@pytest.fixture
def redis(rolled: RollingRestart) -> Iterator[Redis]:
    with Redis.from_url(rolled.installation.redis_url, decode_responses=True) as client:
        yield client


def calls(rolled: RollingRestart) -> list[dict[str, Any]]:
    """Return the calls that the agents of sessions have written down."""
    lines = (rolled.installation.folder / "calls.jsonl").read_text().splitlines()
    return [call for line in lines if "code" in (call := json.loads(line))]


def wait_for_ends(rolled: RollingRestart) -> None:
    """Wait until everything has ended, the newest run of the schedule too."""
    for name in ENDS:
        result_of(rolled.installation.client.get_job(rolled.ids[name]))
    for session in rolled.submitted.values():
        result_of(rolled.installation.client.get_job(session))
    result_of(rolled.installation.client.get_review(rolled.ids["review"]))
    for name in ("schedule_run", "queued_run"):
        until(lambda name=name: is_recorded(rolled, rolled.ids[name]), what=name)
    schedules = rolled.installation.client.schedules
    until(lambda: schedules.get("tick").running is None, what="the newest run is recorded")


def is_recorded(rolled: RollingRestart, run: str) -> bool:
    return run in {it.id for it in rolled.installation.client.schedules.history("daily")}


def test_workers_of_both_versions_run_turns(rolled: RollingRestart) -> None:
    wait_for_ends(rolled)
    ran = {(call["pid"], call["code"]) for call in calls(rolled)}
    workers = {
        (worker.process.pid, str(code))
        for code, workers in (
            (rolled.before, rolled.workers["before"]),
            (rolled.after, rolled.workers["after"]),
        )
        for worker in workers
    }
    assert ran == workers
    codes = {name: client.ask("code") for name, client in rolled.clients.items()}
    assert codes == {"before": str(rolled.before), "after": str(rolled.after)}


def test_sessions_end_as_without_a_restart(rolled: RollingRestart) -> None:
    kinds = {name: name for name in ENDS} | {title: title.split("-")[-1] for title in rolled.submitted}
    ids = {**rolled.ids, **rolled.submitted}
    for title, kind in kinds.items():
        result = result_of(rolled.installation.client.get_job(ids[title]))
        turns = [it.turn_number for it in result.dialog.messages if it.turn_number]
        reason, count = ENDS[kind]
        assert (result.reason, sorted(turns)) == (reason, list(range(1, count + 1))), title
        assert kind not in ONE_BY_ONE or turns == sorted(turns), title
        if kind == "question":
            assert result.dialog.messages[-2].content == "It is blue."


def test_each_turn_is_written_once_with_all_events(rolled: RollingRestart, redis: Redis) -> None:
    wait_for_ends(rolled)
    found = session_ids(redis)
    assert {rolled.ids[name] for name in ENDS} | set(rolled.submitted.values()) < set(found)
    for session in found:
        assert check_truths(redis, session).is_final, session


def test_clients_of_both_versions_see_the_same(rolled: RollingRestart, redis: Redis) -> None:
    for title, session in rolled.submitted.items():
        seen = rolled.seen(session)
        stored = [[it["event_id"], it["event_type"]] for it in Ledger(redis, session).events]
        assert seen["before"] == seen["after"], title
        assert seen["before"]["events"] == stored, title


def test_only_a_killed_worker_loses_attempts(rolled: RollingRestart, redis: Redis) -> None:
    wait_for_ends(rolled)
    ends = [
        it for session in session_ids(redis) for it in Ledger(redis, session).payloads("MAPTurnCompleted")
    ]
    lost = [it for it in ends if it["result"]["outcome"] == "expired"]
    assert bool(lost) == rolled.kill
    if not rolled.kill:
        times = Counter((call["session"], call["turn"]) for call in calls(rolled))
        assert set(times.values()) == {1}
        assert {call["attempt"] for call in calls(rolled)} == {1}


def test_review_and_schedules_go_on(rolled: RollingRestart) -> None:
    wait_for_ends(rolled)
    run = result_of(rolled.installation.client.get_review(rolled.ids["review"]))
    assert (run.state.value, len(run.results), len(run.findings)) == ("completed", 3, 3)
    history = rolled.installation.client.schedules.history("daily")
    assert {(it.id, it.outcome) for it in history} == {
        (rolled.ids[name], RunOutcome.COMPLETED) for name in ("schedule_run", "queued_run")
    }


def test_no_due_time_of_a_schedule_is_lost_or_run_twice(rolled: RollingRestart) -> None:
    wait_for_ends(rolled)
    ticks = rolled.ticks()
    due = sorted(it.due_ms for it in ticks)
    assert due == list(range(due[0], due[-1] + 1, 2_000))
    assert {it.outcome for it in ticks} <= {RunOutcome.COMPLETED, RunOutcome.SKIPPED}
    assert all("Sending due task tick" in beat.log() for beat in rolled.beats)


def test_archive_is_complete(rolled: RollingRestart, redis: Redis) -> None:
    wait_for_ends(rolled)
    reader = rolled.installation.client.archived()
    assert reader is not None
    for session in session_ids(redis):
        until(
            lambda session=session: reader.has_ended(session),
            timeout_s=HOLD_MS / 1_000 + 40,  # a worker that was stopped may have claimed it
            what=f"{session} is archived",
        )
        live = Ledger(redis, session)
        for stream, entries in (
            ("dialog", live.messages),
            ("events", live.events),
            ("journal", live.journal),
        ):
            archived = [json.loads(text) for _, text in reader.entries(session, stream)]
            assert archived == entries, (session, stream)


def test_logs_have_no_error(rolled: RollingRestart) -> None:
    wait_for_ends(rolled)
    for file, log in rolled.logs().items():
        assert not [line for line in log.splitlines() if ": ERROR/" in line or ": CRITICAL/" in line], file
        # The scenario has one agent that raises.
        assert log.count("Traceback") == log.count("\nRuntimeError: a bad day"), file


def test_scripts_of_both_versions_are_on_one_server(rolled: RollingRestart, redis: Redis) -> None:
    verbs = ("turns/begin", "turns/commit", "sessions/plan", "sessions/sweep")
    before, after = (digests_of(verbs, code) for code in (rolled.before, rolled.after))
    assert len({*before, *after}) == 2 * len(verbs)
    for verb, *digests in zip(verbs, before, after, strict=True):
        assert redis.script_exists(*digests) == [True, True], verb
