"""An application with tasks around the steps of its canvases: `celery -A processes.step_app worker`.

A file `kill-at` in the data folder names the boundary at which the worker is killed, once: at `NAME after-next`, when
the task after the step has run; at `NAME next-sent`, when it has sent what follows it; at `NAME next-stored`, when its
result is stored. At `NAME no-broker` it lives, and does not reach the broker for some seconds; at `NAME
cut-backend` it loses its connection to the result backend.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

from celery import Celery, Task, current_task
from celery.signals import after_task_publish
from kombu import pools
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

import symposia
from live import until
from scaling import patient
from symposia.client.building.runtime import per_process
from symposia.client.steps.service import Steps, install_steps
from symposia.config.settings import load_settings
from symposia.state.redis.connect import connect
from symposia.workers.worker_app import create_worker_app

settings = load_settings()
FOLDER = Path(os.environ["SYMPOSIA_DATA_DIR"])


def foreign_app() -> Celery:
    """Return the app of `make test-foreign`; its YAML cannot represent the signatures of a canvas."""
    from processes.foreign_app import app

    app.conf.update(task_serializer="json", result_serializer="json", accept_content=["json"])
    return app


app = foreign_app() if os.environ.get("SYMPOSIA_TEST_APP") == "foreign" else create_worker_app(settings)
#: The process of the worker; with the pool prefork, tasks run in its children.
WORKER = os.getpid()
app.conf.update(result_backend=os.environ["STEP_BACKEND"], task_ignore_result=False, result_expires=600)


def kill_once(boundary: str) -> None:
    order = FOLDER / "kill-at"
    with suppress(FileNotFoundError):
        name, _, when = order.read_text().partition(" ")
        if name == boundary:
            if when in _OUTAGES:
                order.unlink()
                _OUTAGES[when]()
                return
            if when == "after-next":
                until(_next_is_over, what="the next task has run")
            elif when:
                until((FOLDER / "reached").exists, what=when)
            order.unlink()
            if os.getpid() != WORKER:
                os.killpg(os.getpgid(WORKER), signal.SIGKILL)  # its other children would run on
            os.kill(WORKER, signal.SIGKILL)


def _lose_broker() -> None:
    app.amqp._producer_pool = pools.producers[app.connection_for_write("redis://127.0.0.1:1/0")]
    threading.Timer(6, setattr, (app.amqp, "_producer_pool", None)).start()


class _CutConnection(Redis):
    """A connection to the result backend that is lost with the next command."""

    def execute_command(self, *_args: Any, **_options: Any) -> Any:
        del app.backend.client  # the next one connects again
        raise RedisConnectionError("cut")


def _cut_backend() -> None:
    app.backend.client = _CutConnection()


_OUTAGES = {"no-broker": _lose_broker, "cut-backend": _cut_backend}


def _next_is_over() -> bool:
    with connect(settings.redis_url.get_secret_value()) as redis:
        return any(str(redis.get(key)).startswith("over ") for key in redis.scan_iter("symposia:once:*"))


install_steps(app, per_process(lambda: Steps(app, settings, fault_hook=kill_once)))


def _wait_for_kill(moment: str) -> None:
    """Wait if the worker is to be killed at this moment of the task after the step."""
    with suppress(FileNotFoundError):
        if (FOLDER / "kill-at").read_text().partition(" ")[2] == moment:
            (FOLDER / "reached").touch()
            time.sleep(60)


@after_task_publish.connect
def _wait_when_sent(sender: str, **_: Any) -> None:
    if sender == "shop.last" and current_task.name == "shop.report":
        _wait_for_kill("next-sent")


class Reporting(Task):  # type: ignore[type-arg]
    """A task that may be stopped after its result is stored."""

    def after_return(self, *_: Any) -> None:
        _wait_for_kill("next-stored")


def _record(name: str) -> None:
    with (FOLDER / "ran").open("a") as file:
        file.write(f"{name}\n")


@app.task(name="shop.prepare")
def prepare(topic: str) -> str:
    return f"the {topic}"


@app.task(name="shop.report", bind=True, max_retries=3, base=Reporting)
def report(self: Any, result: dict[str, Any], fails: int = 0) -> dict[str, Any]:
    _record(f"report {self.request.id}")
    if self.request.retries < fails:
        raise self.retry(countdown=0)
    return {"reported": result["status"], "session": result["collab_id"], "turns": result["turns"]}


@app.task(name="shop.breaks", base=Reporting)
def breaks(_result: dict[str, Any]) -> None:
    _record("breaks")
    raise ValueError("broken")


@app.task(name="shop.last", bind=True)
def last(self: Any, result: dict[str, Any], kind: str) -> dict[str, Any]:
    _record(f"{kind} {self.request.id}")
    return result


@app.task(name="shop.collect")
def collect(results: list[dict[str, Any]]) -> list[str]:
    _record("collect")
    return [result["status"] for result in results]


@app.task(name="shop.failed")
def failed(request: Any, error: BaseException, _traceback: object) -> None:
    _record(f"failed {type(error).__name__}")


@app.task(name="shop.waits")
def waits(session_id: str, how: str, allowed: bool) -> str:
    try:
        return (
            asyncio.run(_wait(session_id, how, allowed))
            if "async" in how
            else _WAITS[how](session_id, allowed)
        )
    except symposia.errors.WaitInTask as error:
        return f"refused: {error}"


def _job(session_id: str) -> Any:
    return symposia.Client(settings).get_job(session_id)


_WAITS = {
    "result": lambda session, ok: _job(session).result(timeout=patient(20), allow_join=ok).reason,
    "questions": lambda session, ok: f"{len(list(_job(session).questions(allow_join=ok)))} questions",
    "wait_for_question": lambda session, ok: f"{_job(session).wait_for_question(allow_join=ok)}",
}


async def _wait(session_id: str, how: str, allowed: bool) -> str:
    async with symposia.AsyncClient(settings) as client:
        job = await client.get_job(session_id)
        if how == "async result":
            return (await job.result(patient(20), allow_join=allowed)).reason
        if how == "async wait_for_question":
            return f"{await job.wait_for_question(allow_join=allowed)}"
        items = job.questions(allow_join=allowed) if how == "async questions" else _FOLLOWS[how](job)
        async with aclosing(items):
            return f"{len([item async for item in items])} items"


_FOLLOWS = {
    "async messages": lambda job: job.messages(follow=True),
    "async events": lambda job: job.events(follow=True),
    "async stream": lambda job: job.stream(),
    "async live": lambda job: job.live(),
}
