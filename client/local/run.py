"""`run_local` and `run_local_sync`: one session in this process, from its submission to its result.

    def ada(turn):
        return f"My idea for {turn.purpose}"

    collab = {"title": "Idea", "purpose": "a new door", "mode": "round_robin"}
    result = run_local_sync(collab, agents={"ada": ada, "ben": other_function}, stop={"max_rounds": 2})

To follow several sessions, to answer for people, or to suspend and steer, use `LocalClient`.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...config.settings import load_settings
from ...jobs.blocking import is_notebook
from ...jobs.collab import CollabJob
from ...jobs.progress import LiveDisplay
from ...jobs.result import JobResult
from ...models.errors import InvalidInput, ResultTimeout, SymposiaError
from ...models.protocol.collab import Collab
from ...models.protocol.dialog import Message
from ...models.sessions.options import AgentBinding
from ..in_process.installation import THREADS, check_agent_names
from ..submitting import read_session
from .client import LocalClient

log = logging.getLogger(__name__)

MessageHandler = Callable[[Message], object]
#: What names a registered agent, with or without overrides; anything else is an agent itself.
Binding = (str, AgentBinding, Mapping)


async def run_local(
    collab: Collab | Mapping[str, Any] | Path,
    *,
    agents: Mapping[str, object] = MappingProxyType({}),
    on_message: MessageHandler | None = None,
    timeout_s: float | None = None,
    threads: int = THREADS,
    **options: Any,
) -> JobResult:
    """Run a session in this process, and return its result. A cancelled call cancels the session.

    No service, agents file or archive is needed: an embedded server holds the session while it runs. In a notebook the
    dialog is shown as it grows.

    Args:
        collab: The session. A Path names a session file. Without `participants` in a table, one for each agent, in
            their order.
        agents: The agent of each participant id: a function, an agent of pydantic-ai, LangChain, LangGraph or the OpenAI
            Agents SDK, the name of a registered agent, or a binding. A function gets the `TurnContext`, or the prompt
            if its parameter has the annotation `str`. It returns text, a `TurnOutcome`, or None to pass.
        on_message: Called for each new message, in a thread. None: messages are shown in a notebook only.
        timeout_s: Maximum seconds of the session. None: no limit but its own stop conditions.
        threads: Maximum number of turns that run side by side.
        options: Further arguments of `submit`, such as `stop`, `messages`, or `inputs` of a session file.

    Returns:
        How the session ended, and all its messages.

    Raises:
        InvalidInput: One line with field, value and rule.
        ResultTimeout: The session did not end in time, and was cancelled.
        EmbeddedServerError: The server cannot be started.
    """
    run = _LocalRun(collab, agents, on_message=on_message, timeout_s=timeout_s, threads=threads)
    work = asyncio.ensure_future(asyncio.to_thread(run.result, options))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        run.cancel()
        # No other code reads its error: unread, the event loop would log it.
        await asyncio.gather(work, return_exceptions=True)
        raise


def run_local_sync(
    collab: Collab | Mapping[str, Any] | Path,
    *,
    agents: Mapping[str, object] = MappingProxyType({}),
    on_message: MessageHandler | None = None,
    timeout_s: float | None = None,
    threads: int = THREADS,
    **options: Any,
) -> JobResult:
    """Run a session in this process, as `run_local` does, and block until its end."""
    run = _LocalRun(collab, agents, on_message=on_message, timeout_s=timeout_s, threads=threads)
    return run.result(options)


@dataclass
class _LocalRun:
    """One session with a client of its own."""

    collab: Collab | Mapping[str, Any] | Path
    agents: Mapping[str, object]
    on_message: MessageHandler | None
    timeout_s: float | None
    threads: int
    _is_cancelled: threading.Event = field(default_factory=threading.Event)
    _job: CollabJob | None = None

    def __post_init__(self) -> None:
        _check_arguments(self.collab, self.agents, on_message=self.on_message, timeout_s=self.timeout_s)

    def result(self, options: Mapping[str, Any]) -> JobResult:
        objects = {name: agent for name, agent in self.agents.items() if not isinstance(agent, Binding)}
        bindings = {
            name: agent if isinstance(agent, Binding) else name for name, agent in self.agents.items()
        }
        # Wrong input is refused before the server starts.
        submission = read_session({"collab": self.collab, "agents": bindings, **options}, load_settings())
        with LocalClient(objects, threads=self.threads) as client:
            job = self._job = client.submit_unattended(submission)
            if self._is_cancelled.is_set():
                self.cancel()
            shows = self.on_message is None and is_notebook()
            display = LiveDisplay(job.collab().title) if shows else None
            with _following(job, self.on_message if display is None else display.add):
                result = self._wait(job)
            return result if display is None else display.finish(result)

    def _wait(self, job: CollabJob) -> JobResult:
        try:
            return job.result(timeout=self.timeout_s)
        except ResultTimeout as error:
            self._cancel_job(f"not ended within {error.timeout_s:g} s")
            raise ResultTimeout(job.id, timeout_s=error.timeout_s, then="it was cancelled") from None
        except BaseException:  # such as Ctrl-C
            self._cancel_job("the call was interrupted")
            raise

    def cancel(self) -> None:
        self._is_cancelled.set()
        self._cancel_job("the call was cancelled")

    def _cancel_job(self, reason: str) -> None:
        if self._job is not None:
            with suppress(SymposiaError):  # it has just ended, and its client may be closed
                self._job.cancel(reason)


def _check_arguments(collab: object, agents: object, *, on_message: object, timeout_s: object) -> None:
    if not isinstance(collab, Collab | Mapping | Path):
        rule = "must be a Collab, a table of its fields, or the Path of a session file"
        raise InvalidInput("collab", collab, rule)
    check_agent_names(agents)
    if on_message is not None and not callable(on_message):
        raise InvalidInput("on_message", on_message, "must be a function of a message")
    if timeout_s is not None and not (isinstance(timeout_s, int | float) and timeout_s > 0):
        raise InvalidInput("timeout_s", timeout_s, "must be a number greater than 0")


@contextmanager
def _following(job: CollabJob, on_message: MessageHandler | None) -> Iterator[None]:
    """Call `on_message` for each message, in a thread that ends with the session."""
    if on_message is None:
        yield
        return

    def follow() -> None:
        for message in job.messages(follow=True):
            try:
                on_message(message)
            except Exception:
                log.exception("on_message failed for a message of %r", message.speaker)

    thread = threading.Thread(target=follow, name="symposia-follow", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()
