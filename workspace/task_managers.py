"""Task-managers and their verdicts. A task without an approval in time is rejected.

A task-manager is a function, or a registered agent, which approves or rejects like the navigator of a pair.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from ..models.directives import read_directives
from ..models.errors import AgentError, InvalidInput, UnknownAgent
from ..models.modes import with_position
from ..models.protocol.collab import CollabMode, Participant
from ..models.sessions.options import AgentBinding
from ..models.turns.turn import Expects, TurnContext
from .values.conversation import read_agent
from .values.task import MAX_REASON, TaskRequest, Verdict

if TYPE_CHECKING:
    from ..agents.execution.runner import AgentRunner
    from ..agents.registry.registry import Registry

#: Default of the seconds that a task-manager may take.
PATIENCE_S = 30.0
_MAX_TIMEOUT_S = 3_600.0

#: Sync or async callable that returns a Verdict, True or False.
VerdictFunction = Callable[[TaskRequest], Any]


@dataclass(frozen=True, slots=True)
class TaskManager:
    """The task-manager of an app."""

    #: Id of the agent that may manage the tasks.
    agent: str
    #: A callable, or the name of a registered agent.
    verdict: VerdictFunction | str
    timeout_s: float = PATIENCE_S


class TaskManagers:
    """Task-managers by app."""

    def __init__(self) -> None:
        self._known: dict[str, TaskManager] = {}

    def register(
        self,
        app: str,
        verdict: VerdictFunction | str,
        *,
        agent: str | None = None,
        timeout_s: float = PATIENCE_S,
    ) -> None:
        """Set the task-manager of an app: see `register_task_manager`."""
        app = read_agent(app, "app")
        if not callable(verdict):
            verdict = read_agent(verdict, "verdict")
        if not 0 < timeout_s <= _MAX_TIMEOUT_S:
            raise InvalidInput("timeout_s", timeout_s, "must be more than 0 and at most 3600 seconds")
        name = agent if agent is not None else app if callable(verdict) else verdict
        self._known[app] = TaskManager(read_agent(name), verdict, timeout_s)

    def find(self, app: object) -> TaskManager:
        """Return the task-manager of an app; by default the agent with the name of the app.

        Raises:
            InvalidInput: The name breaks a rule.
        """
        name = read_agent(app, "app")
        return self._known.get(name) or TaskManager(name, name)


#: Task-managers of this process.
MANAGERS = TaskManagers()


def register_task_manager(
    app: str, verdict: VerdictFunction | str, *, agent: str | None = None, timeout_s: float = PATIENCE_S
) -> None:
    """Set the task-manager of an app in this process, in place of any earlier one.

    Args:
        app: The app of the tasks.
        verdict: A sync or async callable that gets the TaskRequest and returns a Verdict or a bool; or the name
            of a registered agent, which is asked to approve.
        agent: Its id as task-manager. None: the name of the agent or of the app.
        timeout_s: Seconds it may take; after that the task is rejected.

    Raises:
        InvalidInput: A name is blank, or the time is not within 0 and 3,600 seconds.
    """
    MANAGERS.register(app, verdict, agent=agent, timeout_s=timeout_s)


def request_verdict(judge: VerdictFunction, request: TaskRequest, *, timeout_s: float) -> Verdict:
    """Return the verdict of a callable if it decides in time, otherwise a rejection with the reason."""
    answers: SimpleQueue[Verdict] = SimpleQueue()
    # A late thread cannot be stopped. It is a daemon, so it does not prevent the end of the process.
    thread = threading.Thread(
        target=lambda: answers.put(_call_function(judge, request)), name="symposia-verdict", daemon=True
    )
    thread.start()
    try:
        return answers.get(timeout=timeout_s)
    except Empty:
        return Verdict(accepted=False, reason=f"the task-manager did not decide within {timeout_s:g} s")


def _call_function(judge: VerdictFunction, request: TaskRequest) -> Verdict:
    try:
        answer = judge(request)
        if inspect.isawaitable(answer):
            answer = asyncio.run(_await_answer(answer))
        return _read(answer)
    except BaseException as error:  # noqa: BLE001 - any failure is a rejection
        return Verdict(accepted=False, reason=f"the task-manager failed: {type(error).__name__}")


async def _await_answer(answer: Any) -> object:
    return await answer


def _read(answer: object) -> Verdict:
    if isinstance(answer, bool):
        return Verdict(answer, "" if answer else "the task-manager rejected it")
    if not isinstance(answer, Verdict) or not isinstance(answer.accepted, bool):
        return Verdict(accepted=False, reason="the task-manager answered with something that is no verdict")
    reason = str(answer.reason)[:MAX_REASON]
    return Verdict(answer.accepted, reason or ("" if answer.accepted else "the task-manager rejected it"))


_INSTRUCTION = (
    "You manage the tasks of this app. Decide whether this task may start: approve it, or say why not."
)


class AgentVerdicts:
    """Verdicts of the agents of a registry, requested in this process."""

    def __init__(self, registry: Registry, runner: AgentRunner) -> None:
        self._registry = registry
        self._runner = runner

    def check_agent(self, name: str) -> None:
        """Raise InvalidInput if no agent of this name is registered: no task-manager could decide."""
        try:
            self._registry.get_agent(AgentBinding(agent=name))
        except UnknownAgent as error:
            raise InvalidInput("app", name, f"must have a valid task-manager: {error.rule}") from None
        except AgentError:
            return  # an agent that cannot run now rejects the task later

    def __call__(self, name: str, request: TaskRequest, *, timeout_s: float) -> Verdict:
        """Return the agent's verdict; without an approval in time, a rejection with the reason."""
        context = _context(name, request, timeout_s)
        try:
            seat = self._registry.get_agent(AgentBinding(agent=name))
            outcome = read_directives(context, self._runner.run(seat, context, timeout_s=timeout_s))
        except Exception as error:  # noqa: BLE001 - any failure is a rejection
            return Verdict(accepted=False, reason=f"the task-manager failed: {error}"[:MAX_REASON])
        if outcome.decision is not None and outcome.decision.satisfied:
            return Verdict(accepted=True, reason=outcome.decision.reason)
        reason = outcome.decision.reason if outcome.decision else ""
        reason = reason or " ".join(draft.content for draft in outcome.messages)
        return Verdict(accepted=False, reason=reason[:MAX_REASON] or "the task-manager did not approve")


def _context(name: str, request: TaskRequest, timeout_s: float) -> TurnContext:
    me = Participant(participant_id=name, role_id="task-manager")
    turn = TurnContext(
        session_id=request.task_id,
        mode=CollabMode.PAIR,
        title=f"A task of {request.app}",
        purpose=request.to_json(),
        me=me,
        roster=(me,),
        turn_number=1,
        expects=Expects.REVIEW,
        instruction=_INSTRUCTION,
        timeout_s=timeout_s,
    )
    return with_position(turn)
