"""Verdicts of registered agents as task-managers: they approve or reject, like the navigator of a pair."""

from __future__ import annotations

from ...agents.execution.runner import AgentRunner
from ...agents.registry.registry import Registry
from ...models.errors import AgentError, InvalidInput, UnknownAgent
from ...models.protocol.collab import CollabMode, Participant
from ...models.sessions.options import AgentBinding
from ...models.turns.directives import read_directives
from ...models.turns.turn import Expects, TurnContext
from ...models.workspace.task import MAX_REASON, TaskRequest, Verdict
from ..planners import mode_of

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
        said = outcome.decision.reason if outcome.decision else ""
        said = said or " ".join(draft.content for draft in outcome.messages)
        return Verdict(accepted=False, reason=said[:MAX_REASON] or "the task-manager did not approve")


def _context(name: str, request: TaskRequest, timeout_s: float) -> TurnContext:
    me = Participant(participant_id=name, role_id="task-manager")
    return TurnContext(
        session_id=request.task_id,
        mode=CollabMode.PAIR,
        mode_prompt=mode_of(CollabMode.PAIR).prompt,
        title=f"A task of {request.app}",
        purpose=request.to_json(),
        me=me,
        roster=(me,),
        turn_number=1,
        expects=Expects.REVIEW,
        instruction=_INSTRUCTION,
        timeout_s=timeout_s,
    )
