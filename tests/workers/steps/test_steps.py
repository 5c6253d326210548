"""What every worker does besides running tasks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from live import until
from scaling import patient
from symposia.config.settings import load_settings
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect
from symposia.state.sessions.index import SENT_MS
from symposia.tasks.runtime.runtime import runtime_of
from symposia.workers.steps import sweep
from symposia.workers.steps.sweep import SentTimeStep, SweepStep, make_sweep_thread
from symposia.workers.worker_app import create_worker_app


def test_worker_announces_itself_before_its_sweep(redis_url: str, tmp_path: Path):
    app = create_worker_app(load_settings(redis_url=redis_url, data_dir=tmp_path))
    thread = make_sweep_thread(app, "w1@here", interval_s=3_600, places=lambda: 1)
    thread.start()
    with connect(redis_url) as client:
        book = WorkerPresence(client)
        until(book.list_alive, what="the worker has announced itself")
        thread.close()
        thread.join(patient(20))
        assert book.list_alive() == [], "it says when it leaves, too"


def test_worker_that_sweeps_rarely_stays_announced(redis_url: str, tmp_path: Path, monkeypatch):
    sweeps: list[object] = []
    monkeypatch.setattr(sweep, "ANNOUNCE_EVERY_S", 0.02)
    monkeypatch.setattr(sweep, "sweep", lambda runtime, **_: sweeps.append(runtime))
    app = create_worker_app(load_settings(redis_url=redis_url, data_dir=tmp_path))
    thread = make_sweep_thread(app, "w1@here", interval_s=3_600, places=lambda: 1)
    with connect(redis_url) as client:
        book = WorkerPresence(client)
        thread.start()
        until(book.list_alive, what="the worker has announced itself")
        book.leave("w1@here")
        until(book.list_alive, what="it announces itself again")
        thread.close()
        thread.join(patient(20))
    assert len(sweeps) == 1


def test_stopped_step_has_removed_the_announcement(redis_url: str, tmp_path: Path):
    app = create_worker_app(load_settings(redis_url=redis_url, data_dir=tmp_path))
    worker = SimpleNamespace(app=app, hostname="w1@here", pool=SimpleNamespace(num_processes=1))
    step = SweepStep(worker)
    with connect(redis_url) as client:
        book = WorkerPresence(client)
        step.start(worker)
        until(book.list_alive, what="the worker has announced itself")
        step.stop(worker)
        assert book.list_alive() == [], "the process may end at once"


def test_only_the_common_queue_counts_as_progress(redis_url: str, tmp_path: Path):
    app = create_worker_app(load_settings(redis_url=redis_url, data_dir=tmp_path))
    progress = runtime_of(app).stores.queue_progress
    for queue, sent_ms, newest_ms in [("symposia.agents.1", 2, 0), (app.conf.task_default_queue, 1, 1)]:
        info, message = {"routing_key": queue}, SimpleNamespace(channel=None)
        SentTimeStep._note(
            SimpleNamespace(app=app, delivery_info=info, request_dict={SENT_MS: sent_ms}, message=message)
        )
        assert progress.publish() == newest_ms
