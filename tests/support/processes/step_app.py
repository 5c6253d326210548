"""An application with tasks around the steps of its canvases: `celery -A processes.step_app worker`.

A file `kill-at` in the data folder names the boundary at which the worker is killed, once: at `NAME after-next`, when
the task after the step has run.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from celery import Celery

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
            if when:
                until(_next_is_over, what="the next task has run")
            order.unlink()
            if os.getpid() != WORKER:
                os.killpg(os.getpgid(WORKER), signal.SIGKILL)  # its other children would run on
            os.kill(WORKER, signal.SIGKILL)


def _next_is_over() -> bool:
    with connect(settings.redis_url.get_secret_value()) as redis:
        return any(str(redis.get(key)).startswith("over ") for key in redis.scan_iter("symposia:once:*"))


install_steps(app, per_process(lambda: Steps(app, settings, fault_hook=kill_once)))


def _record(name: str) -> None:
    with (FOLDER / "ran").open("a") as file:
        file.write(f"{name}\n")


@app.task(name="shop.prepare")
def prepare(topic: str) -> str:
    return f"the {topic}"


@app.task(name="shop.report", bind=True, max_retries=3)
def report(self: Any, result: dict[str, Any], fails: int = 0) -> dict[str, Any]:
    _record(f"report {self.request.id}")
    if self.request.retries < fails:
        raise self.retry(countdown=0)
    return {"reported": result["status"], "session": result["collab_id"], "turns": result["turns"]}


@app.task(name="shop.collect")
def collect(results: list[dict[str, Any]]) -> list[str]:
    _record("collect")
    return [result["status"] for result in results]


@app.task(name="shop.failed")
def failed(request: Any, error: BaseException, _traceback: object) -> None:
    _record(f"failed {type(error).__name__}")


@app.task(name="shop.waits")
def waits(session_id: str, allowed: bool) -> str:
    try:
        job = symposia.Client(settings).get_job(session_id)
        return job.result(timeout=patient(20), allow_join=allowed).reason
    except symposia.errors.WaitInTask as error:
        return f"refused: {error}"
