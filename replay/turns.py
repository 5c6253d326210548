"""Replay of one turn: its agent runs again on the recorded context, and its calls are answered from the record.

Which agents run again:

- a model agent: its requests and tool calls are compared with the record, and answered from it;
- a scripted agent: it only reads its turn;
- an agent of another kind, if the caller asks for it: a Python callable or a program may have effects.

All other turns, those of people among them, keep their recorded outcome. So does a call of an agent that failed:
its last request has no answer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ..agents.agent import AnyAgent, InMemoryNotes, TurnServices
from ..agents.execution.runner import AgentRunner
from ..agents.kinds.external import DeferredAgent
from ..agents.kinds.scripted import ScriptedAgent, SlowScriptedAgent
from ..agents.registry.registry import Registry
from ..models.attachments import AttachmentReader
from ..models.directives import read_directives
from ..models.errors import AgentError, InvalidInput
from ..models.sessions.recorded import RecordedAsk, RecordedTurn, scrub_data
from ..models.turns.turn import REVIEW_PARAMETER, TurnContext, TurnOutcome
from ..tasks.views.session_views import SessionFacts
from .calls import ReplayedCalls
from .differences import data_differences, text_differences, value_difference
from .recorded import RecordedDialog

#: Fields of an outcome that are not compared: prices may have changed.
_NOT_COMPARED = frozenset({"usage", "messages", "tool_uses"})


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """What became of a replayed turn."""

    #: The agent ran again; False: its recorded outcome was taken.
    has_run: bool = False
    requests: int = 0
    tool_calls: int = 0
    differences: tuple[str, ...] = ()

    def plus(self, other: ReplayedTurn) -> ReplayedTurn:
        """Return this turn with another call of its agent."""
        return ReplayedTurn(
            self.has_run,
            self.requests + other.requests,
            self.tool_calls + other.tool_calls,
            self.differences or other.differences,
        )


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
    #: Reader of the session's attachments.
    attachments: AttachmentReader | None = None

    def replay(self, record: RecordedTurn) -> ReplayedTurn:
        """Run the agent of a turn again, if it can be, and compare its calls and its answers with the record."""
        asks = [ask for ask in record.asks if ask.outcome is not None]
        if not asks:
            return ReplayedTurn()
        try:
            agent = self.registry.get_agent(record.binding)
        except (InvalidInput, AgentError) as error:
            return ReplayedTurn(differences=(f"agent {record.binding.agent!r}: {error}",))
        uses_services = hasattr(agent, "speak_with_services")
        requests = sum(len(ask.requests) for ask in asks)
        if requests and not uses_services:
            line = value_difference(f"model requests of agent {record.binding.agent!r}", requests, 0)
            return ReplayedTurn(differences=(line,))
        if not (uses_services or self._runs_again(agent, record.planned.participant)):
            return ReplayedTurn()
        replayed = ReplayedTurn(has_run=True)
        without_delay = agent.script if isinstance(agent, SlowScriptedAgent) else agent
        for ask in asks:
            replayed = replayed.plus(self._run(without_delay, ask))
        return replayed

    def _runs_again(self, agent: AnyAgent, participant: str) -> bool:
        if isinstance(agent, DeferredAgent):
            return False
        return isinstance(agent, ScriptedAgent | SlowScriptedAgent) or participant in self.rerun

    def _run(self, agent: AnyAgent, ask: RecordedAsk) -> ReplayedTurn:
        is_first_pinned = REVIEW_PARAMETER in self.facts.spec.parameters
        messages = self.dialog.window(ask.seen, is_first_pinned=is_first_pinned)
        if messages is None:
            return ReplayedTurn(differences=("the dialog no longer has the messages that the turn saw",))
        context = TurnContext.model_validate(ask.context).model_copy(update={"messages": messages})
        calls, notes = ReplayedCalls(ask, self.secrets), InMemoryNotes()
        notes.note = ask.note
        services = TurnServices(calls, notes=notes, observer=calls, replayed_tools=calls.tools)
        try:
            running = self.runner.start(
                agent,
                context,
                timeout_s=context.timeout_s,
                turn_services=services,
                attachments=self.attachments,
            )
            outcome = read_directives(context, running.result())
            differences = (
                calls.differences or calls.missing_calls() or self._outcome_differences(ask, outcome)
            )
        except AgentError as error:
            differences = calls.differences or (f"the agent failed: {error}",)
        return ReplayedTurn(True, calls.answered_requests, calls.answered_tool_calls, differences)

    def _outcome_differences(self, ask: RecordedAsk, outcome: TurnOutcome) -> tuple[str, ...]:
        data = outcome.model_dump(mode="json", exclude_defaults=True)
        recorded, now = (
            ask.outcome or TurnOutcome(),
            TurnOutcome.model_validate(scrub_data(data, self.secrets)),
        )
        lines = []
        if len(recorded.messages) != len(now.messages):
            lines.append(value_difference("messages", len(recorded.messages), len(now.messages)))
        for before, after in zip(recorded.messages, now.messages, strict=False):
            lines += text_differences("message", before.content, after.content)
        return (*lines, *data_differences(recorded, now, without=_NOT_COMPARED))
