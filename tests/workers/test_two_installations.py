"""Two installations on one Redis, with different key prefixes and queues: each sees only its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from live import result_of, until
from review_tools.schedules import ScheduleInstallation
from servers.redis_nodes import own_cluster
from symposia.cli.doctor.checks import run_checks
from symposia.cli.doctor.server_checks import Grade
from symposia.client.building.app import create_client_app
from symposia.client.building.connection import redis_url_in_use
from symposia.config.settings import load_settings
from symposia.dashboard.services import open_services
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import schedule_keys

NAMES = ("shop", "bank")
PEOPLE = [{"participant_id": name} for name in ("ann", "bob")]


@pytest.fixture(params=["server", "cluster"])
def urls(request: pytest.FixtureRequest, tmp_path: Path, redis_url: str) -> Iterator[list[str]]:
    """URLs of the sessions' Redis and of the broker, or of one server for both."""
    if request.param == "server":
        yield [redis_url]
        return
    with own_cluster(tmp_path / "cluster") as cluster:
        yield [cluster.url, redis_url]


@pytest.fixture
def pair(tmp_path: Path, urls: list[str]) -> Iterator[list[ScheduleInstallation]]:
    with ExitStack() as stack:
        installations = []
        for name in NAMES:
            (tmp_path / name).mkdir()
            names = {"queue": f"{name}.turns", "key_prefix": f"{name}:"}
            made = ScheduleInstallation(
                tmp_path / name, urls[0], broker_url=(urls[1:] or [None])[0], chosen=names
            )
            made.write_jobs()
            made.write_shop()
            installations.append(made)
            stack.enter_context(made.stack)
        yield installations


def use(installation: ScheduleInstallation) -> dict[str, str]:
    """Run a session, a schedule and a review, and store a memory; return the ids of session and review."""
    client, name = installation.client, installation.chosen["queue"]
    job = client.submit(
        {"title": name, "purpose": "p", "mode": "round_robin", "participants": PEOPLE},
        agents=dict.fromkeys(("ann", "bob"), "say"),
        stop={"max_turns": 4},
    )
    client.memory.store("ann", f"room of {name}", {"from": name}, service="travel")
    client.schedules.add(f"{name}.review", cron="@yearly", review={"panel": "at_once", "root": "shop"})
    client.schedules.add(f"{name}.often", every=1, job="say", overlap="skip")
    assert result_of(job).turns == 4
    return {"session": job.id, "review": client.schedules.run_now(f"{name}.review")}


def has_beaten(installation: ScheduleInstallation) -> bool:
    key = schedule_keys(f"{installation.chosen['queue']}.often")["entry"]
    with connect(redis_url_in_use(load_settings(**installation.settings))) as client:
        return json.loads(client.hget(key, "meta") or "{}").get("total_run_count", 0) >= 2


def listed_by_flower(installation: ScheduleInstallation, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    for name in {"redis_url", "broker_url", "key_prefix"} & installation.settings.keys():
        monkeypatch.setenv(f"SYMPOSIA_{name.upper()}", str(installation.settings[name]))

    async def read() -> set[str]:
        services = await open_services(SimpleNamespace(settings={}))
        try:
            return {row["id"] for row in services.sessions.rows()}
        finally:
            services.warm_up.cancel()
            await services.hub.stop()
            await services.redis.aclose()
            await services.client.close()

    return asyncio.run(read())


def workers_that_answer(installation: ScheduleInstallation) -> int:
    with ExitStack() as stack:
        app = create_client_app(load_settings(**installation.settings), stack)
        return len(app.control.ping(timeout=2))


def all_keys(url: str) -> list[str]:
    with connect(url) as client:
        return list(client.scan_iter(count=1_000))


@pytest.mark.long
@pytest.mark.leaves_keys
@pytest.mark.timeout(240)
def test_each_installation_sees_only_its_own(pair, urls, monkeypatch):
    for installation in pair:
        installation.start_worker(wait=False)
        installation.start_beat()
    ids = [use(installation) for installation in pair]
    for installation, mine, others in zip(pair, ids, reversed(ids), strict=True):
        client, name = installation.client, installation.chosen["queue"]
        result_of(client.get_review(mine["review"]))
        until(partial(has_beaten, installation), what="the beat has sent a schedule twice")
        sessions = {job.id for job in client.jobs(count=100)}
        assert mine["session"] in sessions
        assert others["session"] not in sessions
        assert [review.id for review in client.reviews().items] == [mine["review"]]
        assert [it.schedule.name for it in client.schedules.entries()] == [f"{name}.often", f"{name}.review"]
        assert client.memory.rooms("ann") == [f"room of {name}"]
        results = list(run_checks(load_settings(**installation.settings)))
        workers = [it.text for it in results if it.subject == "workers" and it.grade is Grade.GOOD]
        assert len(workers) == 1, results
        assert workers_that_answer(installation) == 1
        shown = listed_by_flower(installation, monkeypatch)
        assert mine["session"] in shown
        assert others["session"] not in shown
    prefixes = tuple(f"{name}:" for name in NAMES)
    wrong = [key for url in urls for key in all_keys(url) if not key.startswith(prefixes)]
    assert wrong == []
