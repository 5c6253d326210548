"""`symposia up`, `symposia worker` and `symposia beat`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

Concurrency = Annotated[
    int | None, typer.Option("--concurrency", "-c", min=1, max=1_000, help="Turns side by side in a worker.")
]


class Pool(StrEnum):
    """Celery's worker pools that turns can run in."""

    THREADS = "threads"
    PREFORK = "prefork"
    SOLO = "solo"


class LogLevel(StrEnum):
    """How much is logged."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(up)
    app.command()(worker)
    app.command()(beat)


def up(
    workers: Annotated[int, typer.Option(min=1, max=64, help="Worker processes.")] = 1,
    concurrency: Concurrency = None,
    flower: Annotated[bool, typer.Option(help="Serve Flower, the page that shows tasks and workers.")] = True,
    beat: Annotated[bool, typer.Option(help="Send word of schedules that are due.")] = True,
    local_model: Annotated[
        bool | None, typer.Option(help="Serve the local model; unless told, where it is installed.")
    ] = None,
) -> None:
    """Run all that sessions need, until Ctrl-C.

    The embedded server where no Redis is configured, workers, a beat for schedules, the local model and
    Flower. What ends is started again. Ctrl-C lets the turns in flight finish; a second one ends them.

    Example: [bold]symposia up --workers 2 --no-flower[/bold]
    """
    from ...config.settings import load_settings
    from ..household import Household, keep_up
    from .screen import console, printable

    screen = console()

    def heard(name: str, line: str) -> None:
        if line.strip():
            screen.print(f"{name:<8} | {printable(line)}", soft_wrap=True)

    chosen = {} if concurrency is None else {"worker_concurrency": concurrency}
    keep_up(
        load_settings(**chosen),
        Household(workers=workers, flower=flower, beat=beat, local_model=local_model),
        heard=heard,
    )


def worker(
    concurrency: Concurrency = None,
    pool: Annotated[
        Pool | None, typer.Option(help="How turns run side by side; unless told, in threads.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", "-n", help="The worker's name, unique; %h is the host.")
    ] = None,
    queues: Annotated[str | None, typer.Option("--queues", "-Q", help="Queues to take turns from.")] = None,
    loglevel: Annotated[
        LogLevel, typer.Option(case_sensitive=False, help="How much is logged.")
    ] = LogLevel.INFO,
) -> None:
    """Run a Celery worker with this project's defaults, in the place of this process.

    The same as [bold]celery -A symposia.workers worker[/bold], whose other options it leaves out.

    Example: [bold]SYMPOSIA_REDIS_URL=redis://db:6379/0 symposia worker --concurrency 32[/bold]
    """
    import os

    from ...config.settings import child_environment, load_settings
    from ...state.connect import check_reachable, connect
    from ..connection import redis_url_in_use
    from ..discovery import resolve_redis_url
    from ..runtime import load_registry
    from ..services import worker_command

    # As a setting, too: what else depends on it reads it there.
    settings = load_settings(**({} if concurrency is None else {"worker_concurrency": concurrency}))
    load_registry(settings)
    if resolve_redis_url(settings) is None:
        # A Redis that is configured is waited for; one that nobody named is not.
        url = redis_url_in_use(settings)
        with connect(url, retries=0) as client:
            check_reachable(client, url)
    command = worker_command(
        concurrency=concurrency, pool=pool and pool.value, name=name, queues=queues, loglevel=loglevel.value
    )
    # In the place of this process: the signals that ask it to stop reach the worker itself.
    os.execve(command[0], command, child_environment(settings))  # noqa: S606


def beat() -> None:
    """Run a beat, which sends word of what is due, in the place of this process; `symposia up` has one.

    Several may run, on several machines: each time that is due is still done once.

    Example: [bold]SYMPOSIA_REDIS_URL=redis://db:6379/0 symposia beat[/bold]
    """
    import os

    from ...config.settings import child_environment, load_settings
    from ...state.connect import check_reachable, connect
    from ..connection import redis_url_in_use
    from ..schedules_file import schedules_of
    from ..services import beat_command

    settings = load_settings()
    schedules_of(settings)
    url = redis_url_in_use(settings)
    with connect(url, retries=0) as client:
        check_reachable(client, url)
    command = beat_command()
    os.execve(command[0], command, child_environment(settings))  # noqa: S606
