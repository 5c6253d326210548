"""Sessions in a Redis Cluster, with tasks elsewhere: three masters, one of which is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks import ledger
from live import result_of, until
from scaling import patient
from servers.granted import PASSWORD, read_rule
from servers.redis_nodes import Cluster, own_cluster
from symposia import AsyncClient
from symposia.cli.doctor.checks import run_checks
from symposia.cli.doctor.server_checks import Grade
from symposia.client import Client
from symposia.config.settings import child_environment, load_settings
from symposia.models.errors import RedisUnavailable, UnsuitableRedis
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.text.ids import new_id
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import DUE, SESSIONS, session_key
from symposia.workers.local.services import worker_command


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster that is spoken to as the user of docs/security.md."""
    rights = read_rule("security.md", "symposia").split()[1:]
    with own_cluster(tmp_path / "cluster", credentials=f"symposia:{PASSWORD}@") as cluster:
        for node in cluster.nodes:
            node.client.execute_command("ACL SETUSER", *rights)
        yield cluster


def submitted(client: Client, cluster: Cluster, on: int):
    """A session of ten rounds whose keys are on one of the masters."""
    keys = (
        it
        for it in iter(new_id, None)
        if cluster.master_of(session_key(it, "session")) is cluster.masters[on]
    )
    people = [Participant(participant_id=name) for name in ("ann", "bob")]
    collab = Collab(collab_id=next(keys), title="t", purpose="p", mode="round_robin", participants=people)
    return client.submit(collab, agents={"ann": "say", "bob": "say"}, stop={"max_rounds": 10})


def result_after_failover(job):
    """The result, asked for until the cluster has a new master."""

    def ended():
        try:
            return result_of(job, timeout_s=60)
        except RedisUnavailable:
            return None

    return until(ended, timeout_s=90, what="the session has ended")


@pytest.mark.long
@pytest.mark.timeout(180)
def test_sessions_survive_the_loss_of_a_master(installation, cluster, checked):
    installation.broker_url, installation.redis_url = installation.redis_url, cluster.url
    worker = installation.start_worker()
    jobs = [submitted(installation.client, cluster, on) for on in (0, 0, 1, 2)]
    assert cluster.master_of(DUE) is cluster.masters[0], "what the sweep looks at is lost, too"
    until(lambda: all(job.dialog().messages for job in jobs), what="all are under way")
    cluster.masters[0].kill()
    for job in jobs:
        result = result_after_failover(job)
        assert (result.collab.status, result.turns) == ("completed", 20)
        checked(job, result)

    async def followed():
        async with AsyncClient(installation.client.settings) as client:
            found = await client.get_job(jobs[0].id)
            return [message async for message in found.messages(follow=True)]

    assert len(list(jobs[1].messages(follow=True))) == len(asyncio.run(followed())) == 20
    with connect(cluster.url.replace(f"symposia:{PASSWORD}@", "")) as client:
        for job in jobs:
            ledger.check(client, job.id)
    findings = list(run_checks(load_settings(**installation.settings)))
    assert [it for it in findings if it.grade is Grade.BAD] == []
    assert "Traceback" not in worker.log()
    assert PASSWORD not in worker.log() + " ".join(it.text for it in findings)
    assert [node.client.acl_log() for node in cluster.nodes[1:]] == [[]] * 3, "nothing was refused"


@pytest.mark.long
def test_single_cluster_node_as_url_is_refused(tmp_path, redis_url):
    with own_cluster(tmp_path / "cluster") as cluster:
        node = cluster.masters[1].address
        plain = f"redis://{node}/0"
        settings = load_settings(redis_url=plain, data_dir=tmp_path)
        rule = f"is a node of a Redis Cluster: use redis+cluster://{node} and set SYMPOSIA_BROKER_URL"

        assert cluster.master_of(SESSIONS) is not cluster.masters[1]
        with pytest.raises(UnsuitableRedis) as caught:
            submitted(Client(settings), cluster, 0)
        assert f"Redis at {plain} {rule}" in str(caught.value)

        told = [it for it in run_checks(settings) if it.subject == "Redis"]
        assert [(it.grade, rule in it.text, "answer" in it.text) for it in told] == [(Grade.BAD, True, False)]
        elsewhere = load_settings(redis_url=redis_url, broker_url=plain, data_dir=tmp_path)
        (broker,) = [it for it in run_checks(elsewhere) if it.subject == "broker"]
        assert (broker.grade, rule in broker.text) == (Grade.BAD, True)

        for wrong in (settings, elsewhere):
            ended = subprocess.run(
                worker_command(concurrency=1, banner=False),
                env=child_environment(wrong),
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=patient(50),
                check=False,
            )
            assert ended.returncode == 2, ended.stderr
            assert rule in ended.stderr
            assert "Traceback" not in ended.stderr


@pytest.mark.long
def test_worker_without_a_broker_does_not_start(tmp_path):
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from symposia.cli import main; sys.exit(main())",
            "worker",
        ],
        env={
            **child_environment(load_settings(data_dir=tmp_path)),
            "SYMPOSIA_REDIS_URL": "redis+cluster://:hunter2@a",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=patient(50),
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("symposia: SYMPOSIA_BROKER_URL: is required with the Redis Cluster")
    assert ended.stderr.count("\n") == 1
    assert "hunter2" not in ended.stderr
