"""Registered agents as task-managers: they are asked to approve, like the navigator of a pair."""

from __future__ import annotations

from ...agents.registry import Registry
from ...agents.runner import AgentRunner
from ...models.collab import CollabMode, Participant
from ...models.directives import read_directives
from ...models.errors import AgentError, InvalidInput, UnknownAgent
from ...models.options import AgentBinding
from ...models.tasks.task import MAX_REASON, TaskRequest, Verdict
from ...models.turn import Expects, TurnContext

_INSTRUCTION = (
    "You manage the tasks of this app. Decide whether this one may begin: approve it, or say why it may not."
)


class AgentJudge:
    """Asks the agents of a registry, here and now."""

    def __init__(self, registry: Registry, runner: AgentRunner) -> None:
        self._registry = registry
        self._runner = runner

    def check(self, name: str) -> None:
        """Raises InvalidInput: no agent of this name is registered, so nobody could decide."""
        try:
            self._registry.seat(AgentBinding(agent=name))
        except UnknownAgent as error:
            raise InvalidInput("app", name, f"must have a task-manager: {error.rule}") from None
        except AgentError:
            return  # it cannot speak now, which is a rejection

    def __call__(self, name: str, request: TaskRequest, *, timeout_s: float) -> Verdict:
        """What an agent decides in time; without its approval, a rejection that says why."""
        context = _context(name, request, timeout_s)
        try:
            seat = self._registry.seat(AgentBinding(agent=name))
            outcome = read_directives(context, self._runner.run(seat, context, timeout_s=timeout_s))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no yes
            return Verdict(accepted=False, reason=f"the task-manager failed: {error}"[:MAX_REASON])
        if outcome.decision is not None and outcome.decision.satisfied:
            return Verdict(accepted=True, reason=outcome.decision.reason)
        said = outcome.decision.reason if outcome.decision else ""
        said = said or " ".join(draft.content for draft in outcome.messages)
        return Verdict(accepted=False, reason=said[:MAX_REASON] or "the task-manager did not approve")


def _context(name: str, request: TaskRequest, timeout_s: float) -> TurnContext:
    me = Participant(participant_id=name, role_id="task-manager")
    return TurnContext(
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
