"""Continued sessions and forks: new sessions whose history is an earlier session, live or archived.

A continued session begins after the end of the earlier one, a fork before one of its turns. Both take over its
participants, agents and options, and share its thread. What came before a session is read here, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..models.errors import InvalidInput, SymposiaError
from ..models.memory.learned import MemoryOptions
from ..models.modes import mode_of
from ..models.protocol.base import Event
from ..models.protocol.collab import Collab, CollabStatus
from ..models.protocol.dialog import Message
from ..models.protocol.events import MapEvent
from ..models.sessions.how_to_run import OPTIONS, HowToRun
from ..models.sessions.spec import NO_MESSAGE, History, SessionOptions, SessionSpec
from ..models.sessions.steering import AnyBinding, read_binding
from ..models.sessions.stop_conditions import AnyOf, StopCondition, TextSeen
from ..models.sessions.submission import Submission
from ..models.text.ids import entry_key, new_id, utcnow
from ..models.turns.items import NewItem
from ..models.turns.turn import REVIEW_PARAMETER
from ..state.redis.readers import converting_to_corrupt, read_stored
from ..state.sessions.store import SessionStore
from ..tasks.planning.moment import Moment, PastTurns, read_past_turns
from ..tasks.planning.turn_history import state_before
from ..tasks.runtime.history import MAX_EARLIER, HistoryReader, TurnAttachments
from ..tasks.views.session_views import SessionFacts, initial_view
from .reading import ReadableJob, connections_of, facts_of, streams_of

if TYPE_CHECKING:
    from ..archive.sessions.reader import ArchiveReader


@dataclass(frozen=True, slots=True)
class ForkChanges:
    """Changes of a fork: agents, and instructions in addition to those of the earlier session."""

    agents: Mapping[str, AnyBinding] | None = None
    instruct: Mapping[str, str] | None = None
    #: Name of who submits it.
    owner: str | None = None


def continue_submission(job: ReadableJob, submission: Submission) -> Submission:
    """Return the submission of a session that continues an ended one.

    Raises:
        InvalidInput: The session has not ended, or the thread is another one.
    """
    state = job.state()
    if not state.is_final:
        rule = f"must be the id of a session that has ended; this one is {state.status}"
        raise InvalidInput("continues", job.id, rule)
    thread = _thread_of(facts_of(job))
    if submission.thread_id not in (None, thread):
        raise InvalidInput(
            "thread_id", submission.thread_id, f"must be the thread of the continued session, {thread}"
        )
    newest = streams_of(job).newest_page(job.id, "dialog", count=1)
    history = History(session=job.id, until=newest[0][0] if newest else NO_MESSAGE)
    changes = {"continues": None, "thread_id": thread, "history": history}
    return submission.model_copy(update=changes)


def continued_submission(job: ReadableJob, given: Mapping[str, Any]) -> Submission:
    """Return the submission of a session that continues an ended one, with its participants, agents and options.

    Args:
        job: The session that has ended.
        given: Arguments of `submit` that replace its own; None: not given. In a swarm, the first message is the
            only item of the new board.

    Raises:
        InvalidInput: The session has not ended, or a value breaks a rule.
    """
    job.state()
    facts = facts_of(job)
    chosen = {name: value for name, value in given.items() if value is not None}
    arguments = {**_arguments(facts.spec), **chosen}
    if mode_of(facts.collab.mode).has_board and "options" not in chosen:
        arguments["options"] = facts.spec.options.model_copy(update={"items": _items(chosen.get("messages"))})
    submission = Submission.build(_new_collab(facts.collab), **cast("HowToRun", arguments))
    memory = submission.memory
    if memory is None and facts.spec.memory is not None:
        memory = _next_message(facts.spec.memory, chosen.get("messages"))
    changes = {"memory": memory, "inputs": facts.spec.inputs}
    return continue_submission(job, submission.model_copy(update=changes))


def _next_message(memory: MemoryOptions, messages: object) -> MemoryOptions:
    """Return the memory options of a continued session: its first message is read as a sentence, if the earlier one was."""
    first = next(iter(messages), None) if isinstance(messages, list | tuple) else None
    is_sentence = memory.sentence is not None and isinstance(first, str) and bool(first.strip())
    return memory.changed(said={}, sentence=first if is_sentence else None)


def _items(messages: object) -> tuple[NewItem, ...]:
    first = next(iter(messages), None) if isinstance(messages, list | tuple) else None
    return (NewItem(text=first[:8_000]),) if isinstance(first, str) and first.strip() else ()


def fork_submission(job: ReadableJob, at_turn: int, changes: ForkChanges) -> Submission:
    """Return the submission of a session that begins before a turn of another one.

    Raises:
        InvalidInput: There is no such turn or participant, the record is not complete, or the roster changed.
    """
    state, first = job.state(), start_of(job).next_number
    facts = facts_of(job)
    if type(at_turn) is not int or not first <= at_turn < state.next_number:
        rule = f"must be the number of a turn, {first} to {state.next_number - 1}"
        if first == state.next_number:
            rule = "must be the number of a turn, and the session has none yet"
        raise InvalidInput("at_turn", at_turn, rule)
    _check_roster_unchanged(job)
    past = _past_turns(job)
    moment = _state_before(job, facts, past, at_turn)
    history = History(
        session=job.id,
        before_turn=moment.next_number,
        until=_last_message(job, moment, past),
    )
    submission = Submission.build(
        _new_collab(facts.collab), **cast("HowToRun", {**_arguments(facts.spec), "owner": changes.owner})
    )
    return submission.model_copy(
        update={
            "agents": _changed_agents(facts, changes),
            "thread_id": _thread_of(facts),
            "memory": facts.spec.memory,
            "inputs": facts.spec.inputs,
            "history": history,
            "start": moment.to_start(),
        }
    )


def _thread_of(facts: SessionFacts) -> str:
    return facts.spec.thread_id or facts.session_id


def _new_collab(collab: Collab) -> Collab:
    """Return a draft with a new id, and no trace and events of the earlier session."""
    fresh = {"collab_id": new_id(), "status": CollabStatus.DRAFT, "created_at": utcnow()}
    return collab.changed(**fresh, updated_at=None, trace=None, events=None)


def _arguments(spec: SessionSpec) -> dict[str, Any]:
    """Return the arguments of `submit` that a spec came from. A review ends with its own session."""
    kept = {name: getattr(spec, name) for name in OPTIONS if name in SessionOptions.model_fields}
    return {
        **kept,
        "stop": _without_repeated(spec.stop),
        "parameters": {name: value for name, value in spec.parameters.items() if name != REVIEW_PARAMETER},
        "output": spec.output.json_schema if spec.output else None,
        "output_by": spec.output.by if spec.output else None,
        "record": spec.record or None,
        # It is that of who submits the new session.
        "owner": None,
        # Set later: the thread follows from the session, and inputs are of a session file.
        "thread_id": None,
        "inputs": None,
    }


def _without_repeated(stop: StopCondition) -> StopCondition:
    """Return the condition without repeated parts: opening adds the same ones again.

    Repeated texts stay, because the state of a stop condition refers to texts by position.
    """
    if not isinstance(stop, AnyOf):
        return stop
    kept: list[StopCondition] = []
    for part in stop.conditions:
        if part not in kept or any(isinstance(leaf, TextSeen) for leaf in part.leaves()):
            kept.append(part)
    return AnyOf(tuple(kept))


def _check_roster_unchanged(job: ReadableJob) -> None:
    for _, text in streams_of(job).whole(job.id, "journal"):
        if read_stored(Event, text, session_id=job.id, part="journal").event_type == "roster.changed":
            raise InvalidInput("id", job.id, "must be a session whose participants did not change")


def _timed_events(job: ReadableJob) -> Iterator[tuple[int, MapEvent]]:
    for entry_id, text in streams_of(job).whole(job.id, "events"):
        yield entry_key(entry_id)[0], read_stored(MapEvent, text, session_id=job.id, part="events")


def _past_turns(job: ReadableJob) -> PastTurns:
    with converting_to_corrupt(job.id, "events"):
        return read_past_turns(_timed_events(job), job.board())


def _state_before(job: ReadableJob, facts: SessionFacts, past: PastTurns, at_turn: int) -> Moment:
    return state_before(
        at_turn, past, start_of(job), view=initial_view(facts), stop=facts.spec.stop, output=facts.spec.output
    )


def _last_message(job: ReadableJob, moment: Moment, past: PastTurns) -> str:
    """Return the id of the last message before the step: of its turns, and of those from outside, what was there."""
    began_ms = past.began_ms.get(moment.next_number)
    last = NO_MESSAGE
    for entry_id, text in streams_of(job).whole(job.id, "dialog"):
        turn = read_stored(Message, text, session_id=job.id, part="dialog").turn_number
        is_later = (
            began_ms is not None and entry_key(entry_id)[0] > began_ms
            if turn is None
            else turn not in moment.seen
        )
        if is_later:
            break
        last = entry_id
    return last


def _changed_agents(facts: SessionFacts, changes: ForkChanges) -> dict[str, Any]:
    agents = dict(facts.spec.agents)
    check_table("agents", changes.agents)
    check_table("instruct", changes.instruct)
    for field, names in (("agents", changes.agents or {}), ("instruct", changes.instruct or {})):
        for name in names:
            if name not in agents:
                raise InvalidInput(field, name, f"must be the id of a participant: {', '.join(agents)}")
    for name, given in (changes.agents or {}).items():
        try:
            agents[name] = agents[name].with_agent(given) if isinstance(given, str) else read_binding(given)
        except SymposiaError as error:
            raise InvalidInput(f"agents.{name}", given, "must be the name of an agent") from error
    for name, text in (changes.instruct or {}).items():
        check_text(f"instruct.{name}", text)
        before = agents[name].instructions
        data = {**dict(agents[name]), "instructions": f"{before}\n\n{text}" if before else text}
        agents[name] = read_binding(data)
    return agents


def check_table(field: str, value: object) -> None:
    """Raise InvalidInput for a value that is not a table; None is no value."""
    if value is not None and not isinstance(value, Mapping):
        raise InvalidInput(field, value, "must be a table of participant ids")


def check_text(field: str, text: object) -> None:
    """Raise InvalidInput for a value that is not text, or is blank."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(field, text, "must not be blank")


def earlier_messages(job: ReadableJob, reader: ArchiveReader | None) -> tuple[Message, ...]:
    """Return the newest messages of the history of a session, oldest first; empty: it has none.

    Args:
        job: The session, live or archived.
        reader: Reader of the archive; None: there is none.

    Raises:
        AgentFailed: The archive, which has them, does not answer.
    """
    return _history(job, reader).before(facts_of(job), MAX_EARLIER)


def attachments_in_turns(job: ReadableJob, reader: ArchiveReader | None) -> TurnAttachments:
    """Return the reader of the files that turns of a session may see; the arguments are those of `earlier_messages`."""
    return TurnAttachments(_history(job, reader), facts_of(job))


def _history(job: ReadableJob, reader: ArchiveReader | None) -> HistoryReader:
    # The store of an archived job reads the archive only, and the history may be live.
    return HistoryReader(SessionStore(connections_of(job).redis), archive=lambda: reader)


def start_of(job: ReadableJob) -> Moment:
    """Return the state in which a session began; that of a fork is the state before its first turn."""
    start = connections_of(job).store.start(job.id)
    return Moment.from_start(start) if start else Moment()
