"""Local reviews of `symposia review`: start of missing services, progress, and the transcripts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column
from rich.text import Text

from ...agents.kinds.session import SessionFiles
from ...agents.registry.registry import Registry
from ...agents.tables import LOCAL_MODEL
from ...client import installation_of
from ...client.building.connection import open_archive
from ...config.settings import Settings, load_settings, read_variable
from ...jobs.session_file import read_session_document
from ...models.errors import InvalidInput, SessionNotFound, UnknownAgent
from ...models.text.ids import ms_from_moment, utcnow
from ...models.text.paths import make_private_folder
from ...models.text.redact import json_text
from ...models.text.words import count_of
from ...reviews.batches.request import ReviewEstimate, ReviewRequest, estimate_review
from ...reviews.batches.start import start_batch
from ...reviews.delivery.hosts.replies import ReplyResult
from ...reviews.job import ReviewJob
from ...reviews.state.queues import DeliveryQueue
from ...reviews.state.records import BatchView, Progress
from ...reviews.values.decisions import repository_of, with_decisions
from ...reviews.values.panels import BatchLimits, Panel
from ...reviews.values.runs import ReviewRun, RunState
from ...state.redis.connect import connect
from ...state.sessions.index import SessionIndex
from ...workers.local.code_check import registered_names
from ...workers.local.local_runtime import LocalRuntime, start_local_runtime
from ..common.screen import output_printer, printable

if TYPE_CHECKING:
    from ...archive.archive import Archive

#: Function that returns the dialogue document of a session id.
Transcript = Callable[[str], str]

#: Maximum seconds to wait for running items after an interrupt, and for the cancellation of batches.
_INTERRUPT_GRACE_S = 20.0
#: Maximum seconds to wait for the delivery of the reports, and seconds between two looks.
_DELIVERY_TIMEOUT_S, _POLL_S = 120.0, 0.2


#: Seconds between two lines of progress, without a terminal.
PROGRESS_EVERY_S = 30.0


class ReviewProgress:
    """Context manager that shows a progress bar and lines; without a terminal, progress is a line from time to time.

    With `as_json`, each line of progress is a JSON object whose `event` is `progress`.
    """

    def __init__(
        self, console: Console, *, verbose: bool, as_json: bool = False, every_s: float = PROGRESS_EVERY_S
    ) -> None:
        self._console = console
        self.show_output = output_printer(console, verbose=verbose)
        self._as_json = as_json
        self._every_s = every_s
        self._last_line = time.monotonic()
        self._bars = Bars(
            *(SpinnerColumn(), BarColumn(bar_width=12), TimeElapsedColumn()),
            # It gets the rest of the line. What does not fit is cut: the number of items and the time left come first.
            TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
            expand=True,
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._bar = self._bars.add_task("reading", total=None)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show_line(self, line: str) -> None:
        """Print a line above the bar."""
        self._console.print(printable(line))

    def show_read_count(self, count: int) -> None:
        """Show the number of items read."""
        self._bars.update(self._bar, description=f"reading, {count_of(count, 'item', spec=',')}")

    def show_progress(self, view: BatchView) -> None:
        """Update the bar."""
        progress = Progress.of(view, now_ms=ms_from_moment(utcnow()))
        description = f"{progress}, reporting" if view.settled == view.total else str(progress)
        self._bars.update(self._bar, description=description, total=view.total, completed=view.settled)
        if self._bars.disable and time.monotonic() - self._last_line >= self._every_s:
            self._last_line = time.monotonic()
            self._print_progress(progress)

    def _print_progress(self, progress: Progress) -> None:
        """Print one line about the progress, which is not wrapped."""
        line = (
            json_text({"event": "progress", **progress.to_json()})
            if self._as_json
            else f"Reviewed {progress}."
        )
        self._console.print(Text(line), soft_wrap=True)


@dataclass(frozen=True, slots=True)
class LocalReviewRequest:
    """Request for a local review."""

    #: Function that returns the review request; its argument is the archive, if there is one.
    order: Callable[[Archive | None], ReviewRequest]
    #: Limits that override those of the panel.
    limits: BatchLimits = BatchLimits()  # noqa: RUF009 - frozen
    #: Maximum number of parallel sessions; None: the panel's setting.
    parallel: int | None = None
    #: Findings with less confidence are dropped; None: the panel's setting.
    min_confidence: float | None = None
    #: Whether models are asked through batch APIs; None: the panel's setting.
    batch_api: bool | None = None


@dataclass(frozen=True, slots=True)
class LocalReview:
    """A review that has ended."""

    run: ReviewRun
    #: Function that returns the transcripts of its sessions; None: the panel has no protocol.
    transcript: Transcript | None
    #: Deliveries of its report that have not arrived, one line each.
    undelivered: tuple[str, ...] = ()


def run_local_review(asked: LocalReviewRequest, watcher: ReviewProgress) -> LocalReview:
    """Run a review with local services.

    After an interrupt it cancels the batch and returns the findings so far.

    Raises:
        InvalidInput: A part of the request does not exist; nothing was started.
        StateError, LocalModelError, ArchiveUnavailable: A service cannot be started or does not answer.
    """
    settings = _with_absolute_paths(load_settings())
    registry = _registry(settings)
    order = _order(asked, settings, registry)
    folder = settings.data_dir
    make_private_folder(folder)
    with start_local_runtime(
        settings,
        local_model=_is_local_model(set(order.panel.agents), registry),
        say=watcher.show_line,
        heard=watcher.show_output,
        # Not the reviewed folder: the worker must not import code from it.
        folder=folder,
    ) as local_runtime:
        agent_names = local_runtime.client.known_agents() or _known_agents(registry, settings)
        _check_agents(order.panel, agent_names)
        reviews = installation_of(local_runtime.client).reviews
        job = ReviewJob(start_batch(reviews, order, on_read=watcher.show_read_count), reviews)
        run = _wait_for_end(job, local_runtime, watcher)
        if order.panel.batch_api and run.state is RunState.CANCELLED:
            _wait_for_cancellation(run, reviews.session_index, local_runtime)
        undelivered = _wait_for_deliveries(run, local_runtime) if order.then.get("deliver") else ()
        # Deliveries learn what people have decided in the comments of a pull request.
        return LocalReview(
            with_decisions(run, reviews.decisions.of_repository(repository_of(run))),
            _transcripts(run, local_runtime) if order.panel.protocol is not None else None,
            undelivered,
        )


def reply_locally(
    event: Mapping[str, Any], watcher: ReviewProgress, *, deliver: str, model: str | None
) -> ReplyResult:
    """Do what a comment on a pull request asks for, with local services as `run_local_review` uses them.

    Raises:
        DeliveryFailed: The code host refuses, or does not answer.
        InvalidInput: A part of the request does not exist.
        StateError, LocalModelError: A service cannot be started or does not answer.
    """
    settings = _with_absolute_paths(load_settings())
    registry = _registry(settings)
    if model is not None and model not in (names := _known_agents(registry, settings)):
        raise UnknownAgent(model, known=names, field="model")
    folder = settings.data_dir
    make_private_folder(folder)
    with start_local_runtime(
        settings,
        local_model=model is not None and _is_local_model({model}, registry),
        say=watcher.show_line,
        heard=watcher.show_output,
        folder=folder,
    ) as local_runtime:
        return local_runtime.client.reply_to_review_comment(event, deliver=deliver, model=model)


def estimate_local_review(asked: LocalReviewRequest) -> ReviewEstimate:
    """Return what a review would send and cost. Nothing is started or sent.

    Raises:
        InvalidInput: A part of the request does not exist.
        ArchiveUnavailable: The archive does not answer.
    """
    settings = _with_absolute_paths(load_settings())
    registry = _registry(settings)
    order = _order(asked, settings, registry)
    agent_names = _known_agents(registry, settings)
    _check_agents(order.panel, agent_names)
    return estimate_review(order, open_archive(settings), known_agents=agent_names)


def _transcripts(run: ReviewRun, local_runtime: LocalRuntime) -> Transcript:
    """Read the transcripts at once, because the server may have ended when they are written."""
    transcripts: dict[str, str] = {}
    for session_id in filter(None, (result.session_id for result in run.results)):
        with suppress(SessionNotFound, InvalidInput):
            transcripts[session_id] = local_runtime.client.get_job(session_id).transcript()

    def transcript(session_id: str) -> str:
        if session_id not in transcripts:
            raise SessionNotFound(session_id)
        return transcripts[session_id]

    return transcript


def _wait_for_end(job: ReviewJob, local_runtime: LocalRuntime, watcher: ReviewProgress) -> ReviewRun:
    def watch(view: BatchView) -> None:
        local_runtime.check_services()
        watcher.show_progress(view)

    try:
        return job.result(on_progress=watch)
    except KeyboardInterrupt:
        watcher.show_line(
            "Interrupted: waiting for running items, then reporting the findings so far. Press Ctrl-C again to exit now."
        )
        job.cancel("interrupted")

        def watch_on(view: BatchView) -> None:
            if local_runtime.shutdown_flag.is_set():
                raise TimeoutError
            watch(view)

        try:
            return job.result(_INTERRUPT_GRACE_S, on_progress=watch_on)
        except TimeoutError:
            return job.run().model_copy(update={"state": RunState.CANCELLED})


def _wait_for_cancellation(run: ReviewRun, index: SessionIndex, local_runtime: LocalRuntime) -> None:
    """Wait until the worker has ended the sessions of a cancelled run: it cancels their batches at the provider."""
    session_ids = [result.session_id for result in run.results if result.session_id]
    deadline = time.monotonic() + _INTERRUPT_GRACE_S
    with suppress(KeyboardInterrupt):
        while any(index.time_of(session_id) is not None for session_id in session_ids):
            if local_runtime.shutdown_flag.is_set() or time.monotonic() > deadline:
                return
            local_runtime.check_services()
            time.sleep(_POLL_S)


def _wait_for_deliveries(run: ReviewRun, local_runtime: LocalRuntime) -> tuple[str, ...]:
    """Wait until the reports are delivered, because the worker may end with this process."""
    with connect(local_runtime.redis_url) as client:
        queue = DeliveryQueue(client)
        deadline = time.monotonic() + _DELIVERY_TIMEOUT_S
        with suppress(KeyboardInterrupt):
            while queue.waiting_of(run.id) and time.monotonic() < deadline:
                local_runtime.check_services()
                time.sleep(_POLL_S)
        late = [
            f"{delivery_name}: not delivered within {_DELIVERY_TIMEOUT_S:.0f} s, the next worker will retry"
            for delivery_name in queue.waiting_of(run.id)
        ]
        return (*queue.failures_of(run.id), *late)


def _order(asked: LocalReviewRequest, settings: Settings, registry: Registry) -> ReviewRequest:
    order = asked.order(open_archive(settings))
    limits = {name: value for name, value in asked.limits if value is not None}
    changes = {name: getattr(asked, name) for name in ("min_confidence", "batch_api")}
    given = {name: value for name, value in changes.items() if value is not None}
    return replace(
        order,
        panel=order.panel.with_parallel(asked.parallel).model_copy(
            update={"batch": order.panel.batch.model_copy(update=limits), **given}
        ),
        models=registry.reader_models(),
        programs=registry.program_identities(),
    )


def _with_absolute_paths(settings: Settings) -> Settings:
    """Return the settings with absolute paths, because the worker runs in another folder."""
    changes: dict[str, Path] = {"data_dir": settings.data_dir.absolute()}
    for name in ("agents_file", "deliveries_file"):
        file: Path | None = getattr(settings, name)
        if file is not None:
            changes[name] = file.absolute()
    return settings.model_copy(update=changes)


def _registry(settings: Settings) -> Registry:
    """Return the agents that a worker of this process knows: without an agents file in the working folder."""
    if settings.agents_file is None:
        return Registry()
    session_files = SessionFiles(read_session_document, settings.max_subsession_depth)
    return Registry.load(settings.agents_file, getenv=read_variable, session_files=session_files)


def _known_agents(registry: Registry, settings: Settings) -> frozenset[str]:
    return registered_names(registry, settings, finds_working_folder=False)


def _is_local_model(named: Set[str], registry: Registry) -> bool:
    return any(
        agent.name in named and agent.kind == "llm" and agent.what == LOCAL_MODEL
        for agent in registry.describe()
    )


def _check_agents(panel: Panel, agent_names: frozenset[str]) -> None:
    for agent in panel.agents:
        if agent not in agent_names:
            raise UnknownAgent(agent, known=agent_names, field=f"panel {panel.name}")
