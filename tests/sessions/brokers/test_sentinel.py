"""Sessions and tasks with Sentinels, and a failover during a session."""

from __future__ import annotations

import asyncio

import pytest

from checks import ledger
from live import result_of, until
from scaling import patient
from servers.redis_nodes import own_sentinels
from symposia import AsyncClient
from symposia.cli.doctor.checks import run_checks
from symposia.cli.doctor.server_checks import Grade
from symposia.config.settings import load_settings
from symposia.models.errors import RedisUnavailable
from symposia.state.redis.connect import connect

PASSWORD, OF_SENTINELS = "hunter22", "hunter33"


def result_after_failover(job):
    """The result, asked for until there is a new master."""

    def ended():
        try:
            return result_of(job, timeout_s=60)
        except RedisUnavailable:
            return None

    return until(ended, timeout_s=90, what="the session has ended")


@pytest.mark.long
@pytest.mark.timeout(180)
def test_sessions_survive_a_failover(installation, tmp_path, checked):
    with own_sentinels(tmp_path / "nodes", password=PASSWORD, sentinel_password=OF_SENTINELS) as watched:
        installation.redis_url = watched.url
        worker = installation.start_worker()
        two = {"ann": "say", "bob": "say"}
        jobs = [installation.submit("round_robin", two, stop={"max_rounds": 10}) for _ in range(3)]
        jobs.append(installation.submit("broadcast", {**two, "cyd": "say"}, stop={"max_rounds": 3}))
        until(lambda: all(job.dialog().messages for job in jobs), what="all are under way")
        watched.fail_over()
        for job in jobs:
            result = result_after_failover(job)
            assert result.collab.status == "completed"
            checked(job, result)
        later = installation.submit("pair", {"ann": "say", "bob": "navigator"}, stop={"max_rounds": 2})
        assert result_after_failover(later).collab.status == "completed", (
            "a session that was begun on the new master"
        )

        async def followed():
            async with AsyncClient(installation.client.settings) as client:
                found = await client.get_job(jobs[0].id)
                return [message async for message in found.messages(follow=True)]

        assert len(list(jobs[0].messages(follow=True))) == len(asyncio.run(followed())) == 20
        with connect(watched.url) as client:
            for job in jobs:
                ledger.check(client, job.id)
        findings = list(run_checks(load_settings(**installation.settings)))
        assert [it for it in findings if it.grade is Grade.BAD] == []
        conf = until(
            installation.client._installation._find_app().control.inspect(timeout=patient(5)).conf,
            what="the worker shows its settings",
        )
        log = worker.log()
        assert worker.process.poll() is None, log
        told = " ".join([log, repr(conf), *(f"{it.text} {it.advice}" for it in findings)])
        assert PASSWORD not in told
        assert OF_SENTINELS not in told
