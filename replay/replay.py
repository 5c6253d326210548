"""Replay of a session from its record, in this process: no request is sent, no tool is called, nothing is written.

The record gives each turn its context, the answers to its calls and its result; the dialog gives the messages that
it saw, and the answers of people. The planner gets the recorded results in the order in which the turns were
written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..agents.execution.runner import AgentRunner
from ..jobs.continuing import attachments_in_turns, earlier_messages, start_of
from ..jobs.reading import ReadableJob, connections_of, facts_of
from ..models.directives import read_directives
from ..models.errors import InvalidInput, NotRecorded, ReplayDiffers, SessionNotFound
from ..models.sessions.plan import PlannedTurn
from ..models.sessions.recorded import RecordedTurn
from ..models.turns.turn import DraftMessage, TurnContext, TurnOutcome, TurnResult
from ..state.redis.readers import read_stored
from ..state.sessions.archiving import RecordingStore
from ..state.sessions.records import SessionState
from ..tasks.turns.results import MessageBuilder
from ..tasks.views.session_views import SessionFacts
from .differences import value_difference
from .plans import PlanReplay
from .recorded import ClosedTurn, RecordedDialog, RecordedSession, read_timeline
from .turns import ReplayedTurn, TurnReplay

if TYPE_CHECKING:
    from ..agents.registry.registry import Registry
    from ..archive.sessions.reader import ArchiveReader


#: Reasons of an end that no planner repeats: they came from outside, or depend on time or on prices.
_OUTSIDE_REASONS = ("stop_requested", "deadline", "token_budget", "cost_budget")
#: Reasons with which a session cancels itself.
_OWN_CANCELS = ("failed", "all_turns_failed")


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A replay without a difference."""

    session_id: str
    #: Number of turns that were written.
    turns: int
    #: Numbers of the turns whose agents ran again.
    run_again: tuple[int, ...] = ()
    #: Numbers of the turns whose recorded outcome was taken: those of people, programs and Python callables, and
    #: turns that failed or were skipped.
    taken: tuple[int, ...] = ()
    #: Number of model requests and of tool calls that were answered from the record.
    requests: int = 0
    tool_calls: int = 0
    #: False: the roster was changed while the session ran, so its plans were not compared.
    plan_compared: bool = True


class SessionReplay:
    """Replay of one session."""

    def __init__(self, session: RecordedSession, turns: TurnReplay) -> None:
        self._session = session
        self._turns = turns
        self._plans = PlanReplay(
            session.facts,
            session.timeline,
            session.by_number,
            start=session.start,
            stop_requested=session.state.stop_requested,
        )

    def run(self) -> ReplayResult:
        """Replay the session.

        Raises:
            ReplayDiffers: The first difference.
        """
        compares_plan, closed = not self._session.has_other_roster, self._session.timeline.closed
        replayed: dict[int, ReplayedTurn] = {}
        if compares_plan:
            self._refuse(0, "", self._plans.plan(closed=0))
        for count, turn in enumerate(closed, 1):
            replayed[turn.number] = self._replay_turn(turn, compares_plan=compares_plan)
            if compares_plan:
                self._plans.close(self._result_of(turn))
                self._refuse(turn.number, "", self._plans.plan(closed=count))
        if compares_plan:
            self._compare_end()
        return ReplayResult(
            session_id=self._session.facts.session_id,
            turns=len(closed),
            run_again=tuple(number for number, replayed_turn in replayed.items() if replayed_turn.has_run),
            taken=tuple(number for number, replayed_turn in replayed.items() if not replayed_turn.has_run),
            requests=sum(replayed_turn.requests for replayed_turn in replayed.values()),
            tool_calls=sum(replayed_turn.tool_calls for replayed_turn in replayed.values()),
            plan_compared=compares_plan,
        )

    def _replay_turn(self, turn: ClosedTurn, *, compares_plan: bool) -> ReplayedTurn:
        if compares_plan and turn.number not in self._plans.open:
            self._refuse(turn.number, turn.participant, ["the plan: the turn is not planned now"])
        record = self._session.records.get(turn.token)
        replayed = ReplayedTurn() if record is None else self._turns.replay(record)
        self._refuse(turn.number, turn.participant, replayed.differences)
        return replayed

    def _refuse(self, turn: int, participant: str, differences: Sequence[str]) -> None:
        if differences:
            raise ReplayDiffers(
                self._session.facts.session_id, turn=turn, participant=participant, differences=differences
            )

    def _result_of(self, turn: ClosedTurn) -> TurnResult:
        """Return the recorded result of a turn; without a record, as of a person's turn, that of its message."""
        record = self._session.records.get(turn.token)
        if record is not None:
            return record.result
        facts, planned = self._session.facts, self._plans.open[turn.number]
        messages = self._session.dialog.said(turn.number, turn.token, turn.participant)
        drafts = tuple(DraftMessage(content=message.content, role=message.role) for message in messages[-1:])
        outcome = TurnOutcome(messages=drafts)
        read = read_directives(_plain_context(facts, planned, turn.number), outcome)
        builder = MessageBuilder(facts, planned, turn.number, turn.token, fence=0)
        return builder.result(turn.kind, outcome if read.question else read, error=turn.error)

    def _compare_end(self) -> None:
        state, finish, last = self._session.state, self._plans.finish, self._session.timeline.closed
        number = last[-1].number if last else 0
        reason = state.reason or ""
        if not state.is_final or _is_from_outside(state):
            return
        if finish is None:
            following = ", ".join(turn.participant for turn in self._plans.open.values()) or "nothing"
            self._refuse(number, "", [value_difference("the plan", f"end: {reason}", f"turn of {following}")])
        elif finish.reason != reason:
            self._refuse(number, "", [value_difference("reason of the end", reason, finish.reason)])


def _is_from_outside(state: SessionState) -> bool:
    reason = state.reason or ""
    if state.status.value == "cancelled" and reason not in _OWN_CANCELS:
        return True
    return any(outside_reason in reason for outside_reason in _OUTSIDE_REASONS)


def _plain_context(facts: SessionFacts, planned: PlannedTurn, number: int) -> TurnContext:
    return TurnContext(
        session_id=facts.session_id,
        mode=facts.collab.mode,
        title=facts.collab.title,
        purpose=facts.collab.purpose,
        me=facts.roster[planned.participant],
        roster=facts.participants,
        turn_number=number,
        expects=planned.expects,
        item=planned.item,
    )


def replay_job(
    job: ReadableJob,
    reader: ArchiveReader | None,
    registry: Registry,
    *,
    secrets: Iterable[str],
    rerun: Collection[str] = (),
) -> ReplayResult:
    """Replay the session of a job in this process.

    `secrets` are texts that records do not contain. The agents of the participants in `rerun` run again, whatever
    their kind.

    Raises:
        NotRecorded: The calls of the session were not recorded.
        InvalidInput: `rerun` contains a name that is no participant.
        ReplayDiffers: The replay differs from the record.
    """
    session = _read_session(job, reader)
    for name in rerun:
        if name not in session.facts.roster:
            participant_ids = ", ".join(session.facts.roster)
            raise InvalidInput("rerun", name, f"must be the id of a participant: {participant_ids}")
    runner = AgentRunner(secrets=secrets)
    try:
        turns = TurnReplay(
            session.facts,
            registry,
            runner,
            session.dialog,
            tuple(secrets),
            frozenset(rerun),
            attachments_in_turns(job, reader),
        )
        return SessionReplay(session, turns).run()
    finally:
        runner.close()


def _read_session(job: ReadableJob, reader: ArchiveReader | None) -> RecordedSession:
    state = job.state()
    facts = facts_of(job)
    if not facts.spec.record:
        raise NotRecorded(job.id)
    # The messages before the records: the record of a turn is older than its messages.
    timeline = read_timeline(job.events())
    messages = (*earlier_messages(job, reader), *job.messages())
    journal = job.collab().events or ()
    return RecordedSession(
        facts=facts,
        state=state,
        timeline=timeline,
        dialog=RecordedDialog(messages),
        records=_read_records(job, reader),
        start=start_of(job),
        has_other_roster=any(event.event_type == "roster.changed" for event in journal),
    )


def _read_records(job: ReadableJob, reader: ArchiveReader | None) -> dict[str, RecordedTurn]:
    """Return the records by token: those in Redis, and those that the archive has."""
    records: dict[str, str] = {}
    if job.is_live:
        records |= RecordingStore(connections_of(job).redis).read_all(job.id)
    if reader is not None:
        with suppress(SessionNotFound):  # it is not archived yet
            records |= reader.records(job.id)
    return {
        token: read_stored(RecordedTurn, text, session_id=job.id, part="the record of a turn")
        for token, text in records.items()
    }
