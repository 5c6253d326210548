"""Replay of one turn: its agent runs again on the recorded context, and its calls are answered from the record.

Which agents run again:

- a model agent: its requests and tool calls are compared with the record, and answered from it;
- a scripted agent: it only reads its turn;
- an agent of another kind, if the caller asks for it: a Python callable or a program may have effects.

All other turns, those of people among them, keep their recorded outcome. So do turns that failed or were skipped:
their calls have no answers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ...agents.agent import AnyAgent, InMemoryNotes, TurnServices
from ...agents.deferred import ExternalAgent, HumanAgent
from ...agents.execution.runner import AgentRunner
from ...agents.registry.registry import Registry
from ...agents.scripted import ScriptedAgent, SlowScriptedAgent
from ...models.errors import AgentError, InvalidInput
from ...models.review.runs import REVIEW_PARAMETER
from ...models.sessions.recorded import RecordedTurn, scrub_data
from ...models.turns.directives import read_directives
from ...models.turns.turn import OutcomeKind, TurnContext, TurnOutcome
from ..views.alignment import correct_outcome
from ..views.session_views import SessionFacts
from .calls import ReplayedCalls
from .dialog import RecordedDialog
from .differences import data_differences, text_differences, value_difference

#: Fields of an outcome that are not compared: prices may have changed.
_NOT_COMPARED = frozenset({"usage", "messages"})


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """What became of a replayed turn."""

    #: The agent ran again; False: its recorded outcome was taken.
    has_run: bool = False
    requests: int = 0
    tool_calls: int = 0
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnReplay:
    """Replay of the turns of one session."""

    facts: SessionFacts
    registry: Registry
    runner: AgentRunner
    dialog: RecordedDialog
    secrets: Sequence[str]
    #: Participants whose agents run again, whatever their kind.
    rerun: Collection[str] = field(default_factory=frozenset)

    def replay(self, record: RecordedTurn) -> ReplayedTurn:
        """Run the agent of a turn again, if it can be, and compare its calls and its outcome with the record."""
        if record.context is None or record.result.kind in (OutcomeKind.SKIPPED, OutcomeKind.FAILED):
            return ReplayedTurn()
        try:
            agent = self.registry.get_agent(record.binding)
        except (InvalidInput, AgentError) as error:
            return ReplayedTurn(differences=(f"agent {record.binding.agent!r}: {error}",))
        uses_services = hasattr(agent, "speak_with_services")
        if record.requests and not uses_services:
            line = value_difference(
                f"model requests of agent {record.binding.agent!r}", len(record.requests), 0
            )
            return ReplayedTurn(differences=(line,))
        if not (uses_services or self._runs_again(agent, record.planned.participant)):
            return ReplayedTurn()
        messages = self.dialog.window(
            record.seen, is_first_pinned=REVIEW_PARAMETER in self.facts.spec.parameters
        )
        if messages is None:
            return ReplayedTurn(differences=("the dialog no longer has the messages that the turn saw",))
        context = TurnContext.model_validate(record.context).model_copy(update={"messages": messages})
        return self._run(_without_delay(agent), context, record)

    def _runs_again(self, agent: AnyAgent, participant: str) -> bool:
        if isinstance(agent, HumanAgent | ExternalAgent):
            return False
        return isinstance(agent, ScriptedAgent | SlowScriptedAgent) or participant in self.rerun

    def _run(self, agent: AnyAgent, context: TurnContext, record: RecordedTurn) -> ReplayedTurn:
        calls, notes = ReplayedCalls(record, self.secrets), InMemoryNotes()
        notes.note = record.note
        services = TurnServices(calls, notes=notes, observer=calls, replayed_tools=calls.tools)

        def ask(context: TurnContext) -> TurnOutcome:
            running = self.runner.start(agent, context, timeout_s=context.timeout_s, turn_services=services)
            return read_directives(context, running.result())

        try:
            outcome = ask(context)
            if self.facts.spec.protocol is not None:
                outcome = correct_outcome(context, outcome, ask)
            found = calls.differences or calls.missing_calls() or self._outcome_differences(record, outcome)
        except AgentError as error:
            found = calls.differences or (f"the agent failed: {error}",)
        return ReplayedTurn(True, calls.answered_requests, calls.answered_tool_calls, found)

    def _outcome_differences(self, record: RecordedTurn, outcome: TurnOutcome) -> tuple[str, ...]:
        data = outcome.model_dump(mode="json", exclude_defaults=True)
        now = TurnOutcome.model_validate(scrub_data(data, self.secrets))
        lines = []
        if len(record.outcome.messages) != len(now.messages):
            lines.append(value_difference("messages", len(record.outcome.messages), len(now.messages)))
        for before, after in zip(record.outcome.messages, now.messages, strict=False):
            lines += text_differences("message", before.content, after.content)
        return (*lines, *data_differences(record.outcome, now, without=_NOT_COMPARED))


def _without_delay(agent: AnyAgent) -> AnyAgent:
    return agent.script if isinstance(agent, SlowScriptedAgent) else agent
