"""Commands that run services until Ctrl-C: `symposia up`, `worker`, `beat`, `flower` and `callbacks`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ..common.screen import console, print_json, printable

Concurrency = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        "-c",
        min=1,
        max=1_000,
        help="Maximum number of concurrent turns per worker process.",
        show_default="the configured number, or 8",
    ),
]

Processes = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=64,
        help="Number of worker processes.",
        show_default="the configured number, or the usable cores",
    ),
]


class Pool(StrEnum):
    """Celery worker pools that can run turns."""

    THREADS = "threads"
    PREFORK = "prefork"
    SOLO = "solo"


class LogLevel(StrEnum):
    """Levels of log messages."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (up, worker, beat, flower, callbacks):
        app.command()(command)


def up(
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="Number of worker processes.", show_default="the configured number, or 1"
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency",
            "-c",
            min=1,
            max=1_000,
            help="Maximum number of concurrent turns per worker process.",
            show_default="the configured number, or 8; 8 for each usable core if no number of processes is set",
        ),
    ] = None,
    flower: Annotated[
        bool, typer.Option(help="Start Flower: web pages of sessions, Celery tasks and workers.")
    ] = True,
    http: Annotated[
        bool | None,
        typer.Option(
            help="Start the HTTP API on loopback, without credentials.", show_default="if installed"
        ),
    ] = None,
    beat: Annotated[
        bool, typer.Option(help="Start a beat, which sends due schedules to the workers.")
    ] = True,
    local_model: Annotated[
        bool | None, typer.Option(help="Start the local model.", show_default="if installed")
    ] = None,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload",
            help="Restart the workers, after the turns in flight, when the code of the agents changes.",
        ),
    ] = False,
) -> None:
    """Run all services that sessions need, until Ctrl-C.

    The services are the embedded server if no Redis is configured, workers, a beat for schedules, the local model,
    Flower and the HTTP API. A service that ends is restarted. Ctrl-C stops after the turns in flight; a second Ctrl-C terminates
    these turns. Workers follow changes of the agents file by themselves; with --reload, also changes of the code of
    agents.

    Example: [bold]symposia up --workers 2 --no-flower[/bold]
    """
    from ...config.settings import load_settings
    from ...models.extras import is_installed
    from ...workers.local.services_group import ServiceSelection, run_services
    from ...workers.local.worker_group import usable_cores, worker_processes
    from ...workers.logs import service_line

    screen = console()
    settings = load_settings(**({} if concurrency is None else {"worker_concurrency": concurrency}))
    if {"worker_processes", "worker_concurrency"}.isdisjoint(settings.model_fields_set) and workers is None:
        turns = min(settings.worker_concurrency * usable_cores(), 1_000)
        settings = settings.model_copy(update={"worker_concurrency": turns})

    def heard(name: str, line: str) -> None:
        if not line.strip():
            return
        if settings.log_format == "json":
            print_json(service_line(name, line), lines=True)
        else:
            screen.print(f"{name:<8} | {printable(line)}", soft_wrap=True)

    run_services(
        settings,
        ServiceSelection(
            workers=worker_processes(settings, workers, default=1),
            flower=flower,
            http=is_installed("fastapi") and is_installed("uvicorn") if http is None else http,
            beat=beat,
            local_model=local_model,
            reload=reload,
        ),
        heard=heard,
    )


def worker(  # noqa: PLR0913 - each is an option
    processes: Processes = None,
    concurrency: Concurrency = None,
    pool: Annotated[
        Pool | None, typer.Option(help="Celery pool that runs the turns.", show_default="threads")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            "-n",
            help="Unique name of the worker; %h is the host name. Several processes get numbers: celery-1@%h.",
            show_default="celery@%h",
        ),
    ] = None,
    queues: Annotated[
        str | None,
        typer.Option(
            "--queues", "-Q", help="Queues to consume, separated by commas.", show_default="symposia"
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            "--queue",
            help="Queues of agents, such as gpu, separated by commas: the worker runs only turns of these queues."
            " The name `common` adds all other turns.",
            show_default="only turns without a queue",
        ),
    ] = None,
    loglevel: Annotated[
        LogLevel | None,
        typer.Option(
            case_sensitive=False,
            help="Minimum level of logged messages.",
            show_default="the configured level, or INFO",
        ),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65_535,
            help="Port on which the first process serves metrics for Prometheus at /metrics.",
            show_default="no metrics",
        ),
    ] = None,
    metrics_address: Annotated[
        str | None, typer.Option(help="Address for the metrics.", show_default="127.0.0.1")
    ] = None,
) -> None:
    """Run Celery workers with the settings of Symposia: one process for each usable core.

    SIGTERM and Ctrl-C stop after the turns in flight; a second Ctrl-C or SIGQUIT cancels these turns. A process that
    ends is restarted. If one fails five times in a row, all end, with its exit code. With the pool prefork, the default
    is one process, which has child processes of its own.

    A single process replaces the symposia process (exec). It is the same as
    [bold]celery -A symposia.workers worker[/bold], which has more options.

    Example: [bold]SYMPOSIA_REDIS_URL=redis://db:6379/0 symposia worker --processes 2 --concurrency 32[/bold]
    """
    import os
    from functools import partial

    from ...client.building.connection import redis_url_in_use
    from ...client.building.runtime import load_registry
    from ...config.settings import child_environment, load_settings
    from ...models.errors import InvalidInput
    from ...models.sessions.agent_queues import queues_of_option
    from ...workers.local.services import worker_command
    from ...workers.local.worker_group import numbered_name, run_workers, worker_processes

    # Set it as a setting too, because other settings depend on it.
    chosen = {
        "worker_concurrency": concurrency,
        "metrics_port": metrics_port,
        "metrics_address": metrics_address,
    }
    settings = load_settings(**{name: value for name, value in chosen.items() if value is not None})
    load_registry(settings)
    if queue is not None:
        if queues is not None:
            raise InvalidInput("--queue", queue, "cannot be used together with --queues")
        queues = queues_of_option(queue, settings.queue)
    redis_url_in_use(settings)  # a configured Redis may come later: the worker waits for it
    count = worker_processes(settings, processes, default=1 if pool is Pool.PREFORK else None)
    command_of = partial(
        worker_command,
        concurrency=concurrency,
        pool=pool and pool.value,
        queues=queues,
        loglevel=loglevel.value if loglevel else settings.log_level,
        banner=settings.log_format == "text",
    )
    environment = child_environment(settings)
    if count == 1:
        # Replace this process, so that signals reach the worker itself.
        command = command_of(name=name)
        os.execve(command[0], command, environment)  # noqa: S606
    code = run_workers(
        count,
        lambda number: command_of(name=numbered_name(name, number)),
        environment=environment,
        say=partial(_say, settings.log_format),
    )
    raise typer.Exit(code)


def _say(log_format: str, line: str) -> None:
    """Print a line of the supervisor on standard error, where Celery writes its log."""
    from ...models.text.redact import json_text
    from ...workers.logs import service_line

    text = json_text(service_line("supervisor", line)) if log_format == "json" else f"symposia: {line}"
    typer.echo(text, err=True)


def beat() -> None:
    """Run a beat, which sends due schedules to the workers.

    `symposia up` includes a beat. You can run several beats, also on several machines: each due run starts
    only once. The beat replaces the symposia process (exec), so signals reach it directly.

    Example: [bold]SYMPOSIA_REDIS_URL=redis://db:6379/0 symposia beat[/bold]
    """
    import os

    from ...client.building.connection import redis_url_in_use
    from ...config.settings import child_environment, load_settings
    from ...models.extras import check_installed
    from ...state.redis.connect import check_reachable, connect
    from ...workers.beat.schedules_file import load_schedules_file
    from ...workers.local.services import beat_command

    check_installed("redbeat", "a beat")
    settings = load_settings()
    load_schedules_file(settings)
    url = redis_url_in_use(settings)
    with connect(url, retries=0) as client:
        check_reachable(client, url)
    command = beat_command(banner=settings.log_format == "text")
    os.execve(command[0], command, child_environment(settings))  # noqa: S606


def flower(
    address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65_535, help="Port to listen on.", show_default="the configured port, or 5555"
        ),
    ] = None,
    url_prefix: Annotated[
        str,
        typer.Option(
            help="Path below which all pages are, such as flower, for a proxy.", show_default="none"
        ),
    ] = "",
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse all actions.")] = False,
) -> None:
    """Run Flower, with web pages of sessions that change live, until Ctrl-C.

    Actions such as suspend and reply need authentication in Flower: set FLOWER_BASIC_AUTH=USER:PASSWORD, or Flower's
    variables for OAuth. Other options of Flower are read from FLOWER_* variables, too. Set SYMPOSIA_FLOWER_HOSTS to
    the host names of a proxy.

    It is the same as [bold]celery -A symposia.workers flower[/bold], and `symposia up` includes it. Flower replaces
    the symposia process (exec), so signals reach it directly.

    Example: [bold]FLOWER_BASIC_AUTH=ann:secret symposia flower --port 5555[/bold]
    """
    import os

    from ...client.building.connection import redis_url_in_use
    from ...config.settings import child_environment, load_settings
    from ...models.extras import check_installed
    from ...workers.local.services import flower_command

    check_installed("flower", "Flower")
    settings = load_settings()
    redis_url_in_use(settings)
    command = flower_command(
        port or settings.flower_port,
        address=address,
        url_prefix=url_prefix,
        read_only=read_only,
        loglevel="info",
    )
    os.execve(command[0], command, child_environment(settings))  # noqa: S606


def callbacks(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port to listen on.")] = 5_556,
) -> None:
    r"""Receive signed replies from remote systems over HTTP, until Ctrl-C or SIGTERM.

    There is one route, POST /replies. A stop waits for the open requests. Run it behind a TLS
    proxy, and set its public URL as `callback_url` in \[webhooks] of the agents file.

    Example: [bold]symposia callbacks --port 5556[/bold]
    """
    import asyncio
    import logging

    from ...agents.programs.process import hide_environment
    from ...client import Client
    from ...client.building.runtime import load_registry
    from ...config.settings import load_settings
    from ...models.extras import check_installed
    from ...workers.logs import configure_logging

    check_installed("tornado", "the receiver of callbacks")
    from ...workers.callbacks import PATH, CallbackServer, Receiver

    hide_environment()
    settings = load_settings()
    configure_logging(settings)
    receiver = Receiver(Client(settings), load_registry(settings))
    server = CallbackServer(receiver, max_message_bytes=settings.max_message_bytes)
    text = f"Receiving callbacks at http://{host}:{port}{PATH}; press Ctrl-C to stop."
    if settings.log_format == "json":
        logging.getLogger(__name__).info(text)
    else:
        typer.echo(text)
    asyncio.run(server.serve_until_signal(host=host, port=port))
