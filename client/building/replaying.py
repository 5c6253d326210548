"""Replay of a session with the agents and the archive of the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...config.settings import Settings, read_variable
from ...replay.replay import replay_job
from .broker import secrets_in_use
from .runtime import load_registry
from .sessions import Sessions

if TYPE_CHECKING:
    from ...jobs.reading import ReadableJob
    from ...replay.replay import ReplayResult

#: Value of a variable that is not set: a replay needs no API key. No text contains it by chance.
_PLACEHOLDER = "symposia-unset-variable"


def replay(
    sessions: Sessions, settings: Settings, job: ReadableJob, *, rerun: tuple[str, ...] = ()
) -> ReplayResult:
    """Replay the session of a job. Raises the errors of `Client.replay`."""
    registry = load_registry(
        settings,
        getenv=lambda name: read_variable(name) or _PLACEHOLDER,
        local_model=lambda: "http://127.0.0.1",
        import_modules=True,
    )
    return replay_job(job, sessions.reader(), registry, secrets=secrets_in_use(settings), rerun=rerun)
