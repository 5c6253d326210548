"""Sessions in the Celery application of a user: `symposia.install`."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any

import pytest
from celery import VERSION, Celery

import symposia
from live import until
from scaling import patient
from symposia.config.settings import Settings, load_settings
from symposia.models.errors import InvalidInput
from symposia.state.presence import BeatPresence
from symposia.state.redis.connect import connect

APP = "processes.foreign_app"
POOLS = [
    "threads",
    "prefork",
    "solo",
    pytest.param("gevent", marks=pytest.mark.skipif(find_spec("gevent") is None, reason="needs gevent")),
]


def make_shop(installation: Any) -> Celery:
    """The app of the worker, in this process."""
    app = Celery("shop", broker=installation.redis_url, backend=installation.redis_url, set_as_current=False)
    app.conf.update(
        task_default_queue="shop",
        task_serializer="yaml",
        result_serializer="yaml",
        accept_content=["yaml"],
        task_compression="zlib",
    )
    symposia.install(app, load_settings(**installation.settings))
    return app


@pytest.fixture
def shop(installation: Any, monkeypatch: pytest.MonkeyPatch) -> Celery:
    monkeypatch.setenv("SHOP_BACKEND", installation.redis_url)
    return make_shop(installation)


@pytest.mark.leaves_keys
@pytest.mark.parametrize("pool", POOLS)
def test_worker_runs_its_own_tasks_and_sessions(
    installation: Any, shop: Celery, pool: str, checked: Any
) -> None:
    worker = installation.start_worker(app=APP, options=["--pool", pool], concurrency=2)
    large = "x" * 2_000_000
    assert shop.send_task("shop.size", [large]).get(timeout=patient(30)) == len(large)
    with symposia.Client(app=shop) as client:
        for mode in ("round_robin", "broadcast", "swarm", "pair", "orchestrated"):
            participants = [
                {"participant_id": "ann", "role_id": "orchestrator"},
                {"participant_id": "ben"},
            ]
            collab = {"title": "t", "purpose": "p", "mode": mode, "participants": participants}
            job = client.submit(
                collab, agents={"ann": "echo", "ben": "echo"}, stop={"max_turns": 3}, tenant="b"
            )
            checked(job, job.result(timeout=patient(30)))
        asked = {"title": "t", "purpose": "p", "mode": "round_robin", "participants": []}
        asked["participants"] = [{"participant_id": "me", "kind": "human"}]
        answered = client.submit(asked, agents={"me": "human"}, stop={"max_turns": 1})
        assert answered.wait_for_question(timeout=patient(30)) is not None
        answered.reply("me", "Yes.")
        assert answered.result(timeout=patient(30)).text == "Yes."
        cancelled = client.submit(asked, agents={"me": "human"}, stop={"max_turns": 1})
        assert cancelled.wait_for_question(timeout=patient(30)) is not None
        cancelled.cancel()
        assert cancelled.result(timeout=patient(30)).collab.status == "cancelled"
    assert " ERROR" not in worker.log(), worker.log()


@pytest.mark.leaves_keys
@pytest.mark.parametrize(
    ("route", "options", "runs"),
    [
        ("talks", [], True),
        ("talks", ["-Q", "shop,talks"], True),
        ("", ["-Q", "symposia"], True),
        ("", ["-Q", "shop"], False),
    ],
)
def test_worker_runs_sessions_of_the_queues_that_it_consumes(
    installation: Any, monkeypatch: pytest.MonkeyPatch, route: str, options: list[str], runs: bool
) -> None:
    if route:
        monkeypatch.setenv("SHOP_ROUTE", route)
    worker = installation.start_worker(app=APP, options=["--pool", "threads", *options])
    if not runs:
        assert "it runs none" in worker.log()
        assert not installation.client.known_agents()
        return
    app = make_shop(installation)
    if route:
        app.conf.task_routes = {"symposia.*": {"queue": route}}
    with symposia.Client(app=app) as client:
        collab = {"title": "t", "purpose": "p", "mode": "round_robin", "participants": []}
        collab["participants"] = [{"participant_id": "ann"}]
        job = client.submit(collab, agents={"ann": "echo"}, stop={"max_turns": 3})
        assert job.result(timeout=patient(30)).turns == 3


@pytest.mark.parametrize(
    "given", [None, load_settings(redis_url="redis://127.0.0.1:1")], ids=["", "settings"]
)
def test_app_without_install_is_refused(given: Settings | None) -> None:
    with pytest.raises(InvalidInput, match=r"app: must be an app on which .*symposia\.install\(app\)"):
        symposia.Client(given, app=Celery("shop", set_as_current=False))


def test_client_of_an_app_has_the_settings_of_its_install(installation: Any) -> None:
    app, settings = make_shop(installation), load_settings(**installation.settings)
    others = settings.model_copy(update={"lease_s": 7.0, "queue": "others"})
    rule = "settings: must be omitted, or be those of symposia.install(app): they differ in lease_s, queue"
    with symposia.Client(settings, app=app) as client:
        assert client.settings.broker_url is not None
    for arguments in ({"settings": others}, {"redis_url": "redis://127.0.0.1:1"}):
        with pytest.raises(InvalidInput, match="those of symposia"):
            symposia.Client(**arguments, app=app)
    with pytest.raises(InvalidInput, match=re.escape(rule)):
        symposia.Client(others, app=app)


def test_second_install_must_have_the_same_settings(installation: Any) -> None:
    app, settings = Celery("shop", set_as_current=False), load_settings(**installation.settings)
    symposia.install(app, settings)
    symposia.install(app)
    symposia.install(app, settings)
    with pytest.raises(InvalidInput, match="settings: must be those of the first"):
        symposia.install(app, load_settings(**installation.settings, queue="others"))


@pytest.mark.leaves_keys
@pytest.mark.parametrize("own_schedule", ["", "3600"])
def test_embedded_beat_runs_our_schedules_if_the_app_has_none(
    installation: Any, monkeypatch: pytest.MonkeyPatch, own_schedule: str
) -> None:
    monkeypatch.setenv("SHOP_SCHEDULE", own_schedule)
    worker = installation.start_worker(app=APP, options=["--pool", "threads", "-B"])
    assert ("run `symposia beat`" in worker.log()) == bool(own_schedule)
    if not own_schedule:
        with connect(installation.redis_url) as redis:
            until(BeatPresence(redis).list_alive, what="the beat has announced itself")


@pytest.mark.parametrize(
    ("pool", "option", "line"),
    [
        ("threads", ["--autoscale", "4,1"], "--autoscale does not work with the pool threads"),
        ("threads", ["--time-limit", "5"], "--time-limit has no effect with the pool threads"),
        ("solo", ["--max-tasks-per-child", "5"], "--max-tasks-per-child has no effect with the pool solo"),
        pytest.param(
            *("prefork", ["--pool-start-method", "spawn"], "--pool-start-method spawn does not work"),
            marks=pytest.mark.skipif(VERSION < (5, 7), reason="Celery has no such option"),
        ),
    ],
)
def test_option_without_effect_is_refused(installation: Any, pool: str, option: list[str], line: str) -> None:
    worker = installation.start_worker(app=APP, options=["--pool", pool, *option], wait=False)
    assert worker.process.wait(patient(40)) == 2
    assert line in worker.log()
