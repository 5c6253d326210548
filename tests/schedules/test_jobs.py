"""Jobs at set times: a session file of the settings, one session an occurrence."""

from __future__ import annotations

import pytest

from live import until
from sessions.inline_installation import InlineInstallation
from symposia.client.building.schedules import ScheduledSession
from symposia.schedules.schedule import RunOutcome, Schedule, ScheduleRun
from symposia.workers.worker_app import create_worker_app

DEADLINE_S = 60

FAILING = """
[agents.failing]
kind = "python"
callable = "json:loads"
"""


@pytest.mark.long
@pytest.mark.timeout(150)
def test_job_keeps_its_id_and_survives_its_worker(installation):
    schedules = installation.client.schedules
    worker = installation.start_worker()
    schedules.add("held", cron="@yearly", job="gated")
    first, second = schedules.run_now("held"), schedules.run_now("held")
    until(installation.calls, timeout_s=DEADLINE_S, what="somebody speaks")
    entry = schedules.get("held")
    assert (entry.running, entry.queued) == (first, 1)
    told = installation.client.get_job(first).spec.parameters
    assert (told["schedule"], str(told["due"])[-1]) == ("held", "Z")

    worker.kill()
    installation.start_worker()
    installation.gate.touch()
    records = until(
        lambda: len(found := schedules.history("held")) == 2 and found,
        timeout_s=DEADLINE_S,
        what="both have ended",
    )
    assert [it.id for it in records] == [second, first]
    assert {it.outcome for it in records} == {RunOutcome.COMPLETED}
    for record in records:
        said = [it.speaker for it in installation.client.get_job(record.id).messages() if it.speaker]
        assert said == ["ann", "bob"]


@pytest.mark.long
@pytest.mark.timeout(150)
def test_job_that_cannot_begin_has_a_one_line_error(installation):
    schedules = installation.client.schedules
    rules = {"missing": "missing.yaml: cannot be read", "other": "must be a job of SYMPOSIA_JOBS"}
    for job in rules:  # while no worker can refuse them
        schedules.add(job, cron="@yearly", job=job)
    installation.start_worker()
    for job, rule in rules.items():
        schedules.run_now(job)
        (record,) = until(lambda job=job: schedules.history(job), timeout_s=DEADLINE_S, what=f"{job} is told")
        assert record.outcome is RunOutcome.FAILED
        assert rule in record.detail


@pytest.mark.parametrize(
    ("is_cancelled", "outcome"), [(False, RunOutcome.FAILED), (True, RunOutcome.CANCELLED)]
)
def test_job_with_only_failed_turns_has_failed(tmp_path, redis_url, is_cancelled, outcome):
    installation = InlineInstallation(tmp_path, redis_url, FAILING)
    policy = {"attempts": 1, "then": "skip"}
    job = installation.submit("round_robin", {"ann": "failing"}, stop={"max_turns": 1}, policy=policy)
    if is_cancelled:
        job.cancel()
    installation.work()
    session = ScheduledSession(installation.settings, create_worker_app(installation.settings))
    progress = session.progress(Schedule.model_construct(), ScheduleRun(id=job.id, due_ms=0))
    assert progress.outcome is outcome
    assert ("1 of 1 turn failed or was skipped" in progress.detail) is not is_cancelled
    installation.close()
