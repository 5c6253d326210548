"""Actions of people and other workers as faults: pause, resume, cancel, concurrent sweeps."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from random import Random

from chaos.arena import Arena
from symposia.config.settings import load_settings
from symposia.models.errors import IllegalTransition, SessionNotFound
from symposia.tasks.runtime.runtime import runtime_of
from symposia.tasks.sessions.sweep import sweep
from symposia.workers.worker_app import create_worker_app


def suspend_and_resume(arena: Arena, random: Random) -> None:
    """Sessions are suspended and resumed while their turns commit."""
    for _ in range(20):
        session = _any_session(arena, random)
        with suppress(IllegalTransition, SessionNotFound):
            job = arena.insist(lambda session=session: arena.client.get_job(session))
            arena.insist(job.suspend)
            time.sleep(random.uniform(0, 0.05))
            arena.insist(job.resume)


def cancel(arena: Arena, random: Random) -> None:
    """A few sessions are cancelled in the middle of a turn."""
    for _ in range(3):
        time.sleep(random.uniform(0, 0.3))
        session = _any_session(arena, random)
        arena.cancelled.add(session)
        with suppress(IllegalTransition, SessionNotFound):
            arena.insist(lambda session=session: arena.client.get_job(session).cancel("a fault"))


def sweeps_at_once(arena: Arena, random: Random) -> None:
    """Four more sweeps, all at the same time, without a pause."""
    end = time.monotonic() + random.uniform(0.5, 1.5)
    runtime = runtime_of(create_worker_app(load_settings(**arena.settings)))

    def sweeping() -> None:
        while time.monotonic() < end:
            arena.insist(lambda: sweep(runtime) >= 0)

    threads = [threading.Thread(target=sweeping) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _any_session(arena: Arena, random: Random) -> str:
    while not arena.ids:
        time.sleep(0.01)
    return random.choice(arena.ids)
