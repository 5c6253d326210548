"""A session as a step of a Celery canvas: chains, groups, chords, links, revoke, retry, kills; and `on_end`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery, chain, chord, group, signature
from celery.exceptions import TaskRevokedError

import symposia
from chaos.worker.orders import STEP_BOUNDARIES
from live import LiveWorker, until
from scaling import patient
from symposia.client.in_process.eager import close_eager_installation
from symposia.client.steps.on_end import end_message_id
from symposia.client.steps.service import session_id_of
from symposia.config.settings import load_settings
from symposia.models.errors import InvalidInput, SessionFailed

#: Of tests in which a turn or the step waits until another task has run.
needs_slots = pytest.mark.worker_needs("slots")
PANEL = """
title: A panel
purpose: Talk about {topic}.
mode: round_robin
inputs:
  - {name: topic}
participants:
  - {participant_id: ann, agent: say}
  - {participant_id: ben, agent: say}
stop: {max_rounds: 1}
"""


class Shop:
    """A producer: an app of its own, with a worker of our app that has the tasks of the shop, too."""

    def __init__(self, installation: Any) -> None:
        self.installation = installation
        self.panel = installation.folder / "panel.yaml"
        self.panel.write_text(PANEL)
        url = installation.redis_url
        self.app = Celery("shop", broker=installation.broker_url or url, backend=url, set_as_current=False)
        self.app.conf.update(task_default_queue="symposia", result_expires=600)
        symposia.install(self.app, load_settings(**installation.settings))
        from symposia.client.steps import celery_tasks  # noqa: F401 - registers the task with every app

        self.app.finalize()
        self.session = self.app.tasks["symposia.session"]

    def s(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return signature(f"shop.{name}", args=args, kwargs=kwargs, app=self.app)

    def start_worker(self, **options: Any) -> LiveWorker:
        return self.installation.start_worker(app="processes.step_app", **options)

    def ran(self) -> list[str]:
        file = self.installation.folder / "ran"
        return file.read_text().splitlines() if file.exists() else []

    def gated(self) -> Any:
        """A step whose session waits for the file `gate`."""
        return self.step({"ann": "gated", "ben": "say"}, parameters={"gate": str(self.gate)})

    @property
    def gate(self) -> Path:
        return Path(self.installation.folder / "gate")

    def step(self, agents: dict[str, str], **options: Any) -> Any:
        collab = {"title": "A step", "purpose": "see", "mode": "round_robin"}
        own = {"log": str(self.installation.folder / "calls.jsonl"), **options.pop("parameters", {})}
        return self.session.s(collab, agents=agents, stop={"max_rounds": 1}, parameters=own, **options)

    def panel_step(self, **options: Any) -> Any:
        return self.session.s(
            self.panel, parameters={"log": str(self.installation.folder / "calls")}, **options
        )


@pytest.fixture
def shop(installation: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setenv("STEP_BACKEND", installation.redis_url)
    shop = Shop(installation)
    yield shop
    until(lambda: not _steps(shop), what="no step is left")
    shop.app.backend.result_consumer.stop()
    shop.app.backend.result_consumer._pubsub = None  # results that are collected later would unsubscribe
    shop.app.close()


@pytest.fixture
def rabbit_shop(installation: Any, amqp_url: str, request: pytest.FixtureRequest) -> Shop:
    installation.broker_url = amqp_url
    return request.getfixturevalue("shop")


def get(result: Any, **options: Any) -> Any:
    return result.get(timeout=patient(40), **options)


@pytest.mark.parametrize("pool", ["threads", "processes"])
def test_canvas(shop: Shop, pool: str) -> None:
    shop.start_worker(options=["--pool", pool])
    chained = chain(shop.s("prepare", "room"), shop.panel_step(previous="topic"), shop.s("report", fails=1))
    started = chained.apply_async()
    answer = get(started)
    assert answer["reported"] == "completed"
    assert answer["turns"] == 2
    assert answer["session"] == session_id_of(started.parent.id)
    job = shop.installation.client.get_job(answer["session"])
    assert job.collab().purpose == "Talk about the room."
    assert len(shop.ran()) == 2, "the next task ran, and its retry"
    assert get(started.parent)["collab_id"] == answer["session"]

    say = {"ann": "say", "ben": "say"}
    pair = group(shop.step(say), shop.step(say)).apply_async()
    assert [one["status"] for one in get(pair)] == ["completed"] * 2
    body = chord([shop.step(say), shop.panel_step(inputs={"topic": "tea"})], shop.s("collect")).apply_async()
    assert get(body) == ["completed"] * 2
    linked = shop.step(say).apply_async(link=shop.s("report"))
    get(linked)
    until(lambda: len(shop.ran()) == 4, what="the link ran")
    second = chain(shop.step(say), shop.step(say, priority="high")).apply_async()
    job = shop.installation.client.get_job(get(second)["collab_id"])
    assert job.spec.priority == "high"
    messages = list(job.messages())
    assert messages[0].content == get(second.parent)["text"]


def test_failed_session_fails_step(shop: Shop) -> None:
    shop.start_worker()
    step = shop.step({"ann": "blind", "ben": "blind"})
    with pytest.raises(SessionFailed):
        get(step.apply_async(link_error=shop.s("failed")))
    until(lambda: shop.ran() == ["failed SessionFailed"], what="the errback ran")
    body = shop.s("collect").on_error(shop.s("failed"))
    result = chord([step, shop.step({"ann": "say", "ben": "say"})], body).apply_async()
    with pytest.raises(Exception, match="was not completed"):
        get(result)
    until(lambda: len(shop.ran()) == 2, what="the errback of the chord ran")


@needs_slots
@pytest.mark.parametrize("terminate", [False, True])
def test_revoke_cancels_session(shop: Shop, terminate: bool) -> None:
    shop.start_worker()
    result = shop.gated().apply_async()
    until(lambda: result.state == "AWAITING_SESSION", what="the step waits")
    job = until(lambda: _job(shop, result.id), what="the session is open")
    result.revoke(terminate=terminate)
    with pytest.raises(TaskRevokedError):
        get(result)
    # Celery stores the state at once if it terminates a process.
    until(lambda: job.state().status == "cancelled", what="the session is cancelled")
    shop.gate.touch()


def test_step_that_is_revoked_before_its_run_opens_no_session(shop: Shop) -> None:
    shop.start_worker()
    # With gevent a worker is ready before it gets commands.
    until(lambda: shop.app.control.ping(timeout=patient(1)), what="the worker gets commands")
    result = shop.step({"ann": "say", "ben": "say"}).apply_async(countdown=1)
    result.revoke()
    with pytest.raises(TaskRevokedError):
        get(result)
    assert _job(shop, result.id) is None


def test_immutable_step_ignores_result_before(shop: Shop) -> None:
    shop.start_worker()
    chained = chain(shop.s("prepare", "room"), shop.step({"ann": "say", "ben": "say"}).set(immutable=True))
    messages = list(shop.installation.client.get_job(get(chained.apply_async())["collab_id"]).messages())
    assert [message.speaker for message in messages] == ["ann", "ben"]


@pytest.mark.xdist_group("rabbitmq")
@pytest.mark.timeout(300)
@pytest.mark.long
@pytest.mark.parametrize("boundary", ["", "after-submit", "before-finish after-next"])
def test_chain_over_rabbitmq(rabbit_shop: Shop, boundary: str) -> None:
    shop = rabbit_shop
    (shop.installation.folder / "kill-at").write_text(boundary)
    shop.installation.lease_s = 2
    worker = shop.start_worker()
    result = chain(
        shop.s("prepare", "room"), shop.panel_step(previous="topic"), shop.s("report")
    ).apply_async()
    if boundary:
        until(lambda: worker.process.poll() is not None, what="the worker is killed")
        shop.start_worker()
    answer = get(result)
    assert (answer["reported"], answer["turns"]) == ("completed", 2)
    check_runs(shop)


def _job(shop: Shop, task_id: str) -> Any:
    try:
        return shop.installation.client.get_job(session_id_of(task_id))
    except symposia.SessionNotFound:
        return None


BOUNDARIES = [
    *STEP_BOUNDARIES,
    pytest.param("before-finish after-next", marks=needs_slots),
]


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_killed_worker_leaves_one_outcome(shop: Shop, boundary: str) -> None:
    (shop.installation.folder / "kill-at").write_text(boundary)
    shop.installation.lease_s = 2
    worker = shop.start_worker()
    result = chain(shop.step({"ann": "say", "ben": "say"}), shop.s("report")).apply_async()
    until(lambda: worker.process.poll() is not None, what="the worker is killed")
    shop.start_worker()
    answer = get(result)
    assert answer["turns"] == 2
    assert answer["session"] == session_id_of(result.parent.id)
    # The next task may have been lost in the middle of its run, with the same worker.
    check_runs(shop, 2 if boundary == "before-finish" else 1)


@needs_slots
def test_killed_worker_leaves_one_run_of_link(shop: Shop) -> None:
    (shop.installation.folder / "kill-at").write_text("before-finish after-next")
    shop.installation.lease_s = 2
    worker = shop.start_worker()
    result = shop.step({"ann": "say", "ben": "say"}).apply_async(link=shop.s("report"))
    until(lambda: worker.process.poll() is not None, what="the worker is killed")
    shop.start_worker()
    get(result)
    check_runs(shop)


@pytest.mark.parametrize("cause", ["step", "on_end"])
@pytest.mark.parametrize(("moment", "runs"), [("next-sent", 2), ("next-stored", 1)])
def test_task_after_step_is_lost_in_its_run(shop: Shop, cause: str, moment: str, runs: int) -> None:
    """It runs again if its result is not stored. What follows it, such as a link, has one id and runs once."""
    boundary = "before-finish" if cause == "step" else "after-message"
    (shop.installation.folder / "kill-at").write_text(f"{boundary} {moment}")
    shop.installation.lease_s = 2
    worker = shop.start_worker(concurrency=2)  # what follows stays in the queue
    say, report = {"ann": "say", "ben": "say"}, shop.s("report").set(link=shop.s("last", "link"))
    if cause == "step":
        result = chain(shop.step(say), report, shop.s("last", "end")).apply_async()
        reported = result.parent
    else:
        job = shop.installation.submit("round_robin", say, stop={"max_rounds": 1}, on_end=report)
        result = reported = shop.app.AsyncResult(end_message_id(job.id))
    until(lambda: worker.process.poll() is not None, what="the worker is killed")
    shop.start_worker()
    assert get(result)["turns"] == 2
    until(lambda: not _steps(shop), what="nothing is left to send")
    kinds = ["report", "link", "end"] if cause == "step" else ["report", "link"]
    until(lambda: {line.split()[0] for line in shop.ran()} == set(kinds), what="all have run")
    get(shop.s("prepare", "room").apply_async())  # behind a copy that was sent
    assert sorted(line.split()[0] for line in shop.ran()) == sorted(kinds + ["report"] * (runs - 1))
    assert {line.split()[1] for line in shop.ran() if line.startswith("report")} == {reported.id}


@pytest.mark.parametrize(
    "outage", ["before-return no-broker", "before-return cut-backend", "before-submit cut-backend"]
)
def test_outage_delays_the_result(shop: Shop, outage: str) -> None:
    (shop.installation.folder / "kill-at").write_text(outage)
    shop.installation.lease_s = 2
    shop.start_worker()
    result = chain(shop.step({"ann": "say", "ben": "say"}), shop.s("report")).apply_async()
    assert get(result)["turns"] == 2
    until(lambda: result.parent.state == "SUCCESS", what="the result of the step is stored")
    check_runs(shop)


def test_failed_task_after_step_is_not_repeated(shop: Shop) -> None:
    (shop.installation.folder / "kill-at").write_text("before-finish next-stored")
    shop.installation.lease_s = 2
    worker = shop.start_worker()
    result = chain(shop.step({"ann": "say", "ben": "say"}), shop.s("breaks")).apply_async()
    until(lambda: worker.process.poll() is not None, what="the worker is killed")
    shop.start_worker()
    with pytest.raises(ValueError, match="broken"):
        get(result)
    check_runs(shop)


def check_runs(shop: Shop, most: int = 1) -> None:
    until(lambda: not _steps(shop), what="nothing is left to send")
    get(shop.s("prepare", "room").apply_async())  # behind a copy that was sent
    assert 1 <= len(shop.ran()) <= most


def _steps(shop: Shop) -> int:
    from symposia.state.redis.connect import connect

    with connect(shop.installation.redis_url) as redis:
        return int(redis.zcard("symposia:steps"))


@pytest.mark.parametrize(
    "boundary",
    ["", "before-message", "after-message", pytest.param("after-message after-next", marks=needs_slots)],
)
def test_on_end_sends_signature(shop: Shop, boundary: str) -> None:
    (shop.installation.folder / "kill-at").write_text(boundary)
    shop.installation.lease_s = 2
    worker = shop.start_worker()
    job = shop.installation.submit("round_robin", {"ann": "say", "ben": "say"}, on_end=shop.s("report"))
    if boundary:
        until(lambda: worker.process.poll() is not None, what="the worker is killed")
        shop.start_worker()
    result = shop.app.AsyncResult(end_message_id(job.id))
    assert get(result)["session"] == job.id
    check_runs(shop, 2 if boundary == "after-message" else 1)


#: Calls that wait, and what they return if they may.
WAITS = {"result": "max_rounds", "questions": "0 questions", "wait_for_question": "None"}
WAITS |= {"async result": "max_rounds", "async questions": "0 items", "async wait_for_question": "None"}
#: Calls that wait, and have no option `allow_join`.
FOLLOWS = ["async messages", "async events", "async stream", "async live"]


@pytest.mark.worker_needs("join that blocks", "slots")
def test_waiting_in_task_is_refused(shop: Shop) -> None:
    shop.start_worker(concurrency=8)
    job = shop.installation.submit(
        "round_robin", {"ann": "gated", "ben": "say"}, parameters={"gate": str(shop.gate)}
    )

    def wait(how: str, *, allowed: bool = False) -> Any:
        return shop.s("waits", job.id, how, allowed).apply_async()

    for how in [*WAITS, *FOLLOWS]:
        assert "symposia.session" in get(wait(how)), how
    allowed = {how: wait(how, allowed=True) for how in WAITS}
    shop.gate.touch()
    assert {how: get(result) for how, result in allowed.items()} == WAITS
    for how in [*WAITS, *FOLLOWS]:
        assert "refused" not in get(wait(how)), how


def test_eager_step_runs_in_process(shop: Shop) -> None:
    shop.app.conf.task_always_eager = True
    try:
        result = shop.step({"ann": "say", "ben": "say"}).apply_async()
        assert result.get()["status"] == "completed"
    finally:
        close_eager_installation(shop.app)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"previous": "place"}, "previous"),
        ({"inputs": {"place": "x"}}, "inputs.place"),
        ({"stop": {"max_round": 1}}, "stop"),
        ({"tennant": "x"}, "tennant"),
        ({"attachments": [Path("x")]}, "attachments"),
    ],
)
def test_wrong_signature_is_refused(shop: Shop, options: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        shop.session.s(shop.panel, **options)
