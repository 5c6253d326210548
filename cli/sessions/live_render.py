"""Live output of a session: open turns, messages, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Self

from pydantic import JsonValue
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
from rich.text import Text

from ...jobs.collab import CollabJob
from ...jobs.result import JobResult
from ...models.protocol.base import Event
from ...models.protocol.collab import Collab
from ...models.protocol.events import MapEvent, MAPEventType
from ...models.sessions.spec import SessionSpec
from ...models.text.words import count_of
from ...models.turns.streaming import Delta, Drafts, ToolEvent, ToolStatus
from ...state.following import SessionUpdate
from ...tasks.sessions.task_tree import GrantEnd, GrantOutcome
from ..common.dialog_lines import TO_ALL, ParticipantNames, dialog_line, hanging
from ..common.screen import printable
from .progress import DraftProgress, ProgressCounter, expected_turns
from .questions import PersonAtTerminal
from .render import message_text

_SILENT_TURN_TEXTS = {
    GrantOutcome.MESSAGE: "no message, only a decision",
    GrantOutcome.EXPIRED: "its worker was lost; another worker retries the turn",
    GrantOutcome.DROPPED: "dropped: the session no longer needs this turn",
    GrantOutcome.CANCELLED: "cancelled: the session ended first",
    GrantOutcome.ASKED: "answered; the turn continues",
    GrantOutcome.REASSIGNED: "no answer in time; the turn is reassigned",
}
#: Texts of events about parked turns.
_WAIT_TEXTS = {
    "turn.parked": "waiting for an answer from",
    "turn.reminded": "reminder: waiting for an answer from",
    "turn.escalated": "no answer in time; escalated to",
    "turn.reassigned": "no answer in time; reassigned to",
}

#: What happens after a hit of a guard, by its action.
_GUARD_TEXTS = {
    "ask_again": "asked again",
    "fail": "the failure policy applies",
    "skip": "the turn is skipped",
    "park": "a person decides",
    "abort": "the session is cancelled",
}

_REPEATS = "brings nothing new; the turn counts as a pass"

#: Texts of steering events.
_STEERING_TEXTS = {
    "participant.added": "{by} added {who}, from the next round on",
    "participant.removed": "{by} removed {who}, from the next round on",
    "participant.instructed": "{by} changed the instructions of {who}, from the next turn on",
    "message.posted": "{by} posted a message as {role}",
    "roster.changed": "participants from now on: {roster}",
}


class LiveView:
    """Printer of the events of one session, with a progress line on a terminal.

    It is a context manager: the progress line is shown inside the context.
    """

    def __init__(self, console: Console, collab: Collab, spec: SessionSpec) -> None:
        self._console = console
        self._cast = ParticipantNames(collab.participants)
        self._counter = ProgressCounter()
        self._suspended = False
        self._is_draft = False
        self._expected_turns = expected_turns(collab, spec)
        self._create_progress(Drafts())

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show_progress(self, wanted: bool) -> None:
        """Show or hide the progress line of a terminal."""
        if not self._console.is_terminal or wanted == self._progress.live.is_started:
            return
        if wanted:  # one that was stopped overwrites the lines that were printed since
            self._create_progress(self._progress.drafts)
            self._progress.start()
        else:
            self._progress.stop()

    def _create_progress(self, drafts: Drafts) -> None:
        bar = (BarColumn(bar_width=24), MofNCompleteColumn()) if self._expected_turns else ()
        self._progress = DraftProgress(
            *(SpinnerColumn(), TextColumn("{task.description}", markup=False), *bar),
            console=self._console,
            cast=self._cast,
            drafts=drafts,
        )
        self._line = self._progress.add_task(
            self._now(), total=self._expected_turns, completed=self._counter.turns
        )

    def show(self, moment: SessionUpdate | Delta | ToolEvent) -> None:
        """Print one update of the session, or show partial output until its message is written."""
        if isinstance(moment, Delta):
            self._progress.drafts.add(moment)
            return
        if isinstance(moment, ToolEvent):
            self._console.print(self._tool_line(moment))
            return
        for message in moment.messages:
            self._progress.drafts.remove(message.turn_number)
        for line in self._lines(moment):
            self._console.print(line)
        if isinstance(moment.event, MapEvent):
            self._counter.count_event(moment.event)
        self._progress.update(self._line, description=self._now(), completed=self._counter.turns)

    def render_drafts(self) -> Iterator[Text]:
        """Yield the partial output that is shown below the dialog."""
        return self._progress.render_drafts()

    def _now(self) -> str:
        names = ", ".join(self._cast.name(name) for name in self._counter.speaking.values())
        verb = "speak" if len(self._counter.speaking) > 1 else "speaks"
        waits = "a draft, waiting for `symposia activate`" if self._is_draft else "waiting for a worker"
        now = f"{names} {verb}" if names else waits
        now = f"suspended, {now}" if self._suspended else now
        return f"{now} · {count_of(self._counter.tokens, 'token')}"

    def _lines(self, moment: SessionUpdate) -> Iterator[Text]:
        event = moment.event
        if isinstance(event, Event):
            yield from self._journal_lines(event)
        elif event.event_type is MAPEventType.BROADCAST_SENT:
            yield self._broadcast_line(event)
        for message in moment.messages:
            name = self._cast.styled_speaker(message)
            yield dialog_line(self._console, message.turn_number, name, message_text(message))
        if isinstance(event, MapEvent) and event.event_type is MAPEventType.TURN_COMPLETED:
            closed = GrantEnd.from_event(event)
            if all(message.turn_number != closed.turn for message in moment.messages):
                yield self._silent_turn_line(closed)

    def _tool_line(self, event: ToolEvent) -> Text:
        """Return the line about the begin or the end of a tool call."""
        if event.duration_ms is None:
            text = f"calls {event.name} {event.arguments}"
        else:
            text = f"{event.name}: {event.status.value} after {event.duration_ms / 1000:.1f} s"
        style = "dim" if event.status in (ToolStatus.RUNNING, ToolStatus.OK) else "yellow"
        name = self._cast.styled_name(event.participant_id)
        return dialog_line(self._console, event.turn_number, name, Text(printable(text), style=style))

    def _journal_lines(self, event: Event) -> Iterator[Text]:
        """Yield lines about pauses, parked turns and steering."""
        event_type = event.event_type
        if event_type == "session.opened":
            yield self._child_line(event)
        elif "session_id" in (event.data or {}):
            return  # of a turn that waits for a sub-session
        elif event_type == "turn.parked" and "batch" in (event.data or {}):
            yield self._turn_line(event, "waiting for a batch of its provider")
        elif event_type in _WAIT_TEXTS:
            yield self._question_line(event, _WAIT_TEXTS[event_type])
        elif event_type in (lines := self._lines_by_type()):
            yield lines[event_type](event)
        elif event_type in ("session.created", "session.active") and not self._suspended:
            self._is_draft = event_type == "session.created"
        elif event_type == "session.suspended":
            self._suspended = True
            yield Text("     suspended; `symposia resume` continues it", style="yellow")
        elif event_type == "session.active":
            self._suspended = False
            yield Text("     resumed", style="yellow")
        elif event_type in _STEERING_TEXTS:
            yield self._steering_line(event, _STEERING_TEXTS[event_type])

    def _lines_by_type(self) -> Mapping[str, Callable[[Event], Text]]:
        """Return the functions for events that are one line."""
        return {
            "guard.hit": self._guard_line,
            "turn.repeats": lambda event: self._turn_line(event, _REPEATS),
            "turn.worker.lost": self._lost_worker_line,
        }

    def _turn_line(self, event: Event, text: str) -> Text:
        """Return a line about the turn that an event of the journal names."""
        data = event.data or {}
        number = data.get("turn_number")
        name = self._cast.styled_name(str(data.get("participant_id")))
        turn = number if isinstance(number, int) else None
        return dialog_line(self._console, turn, name, Text(printable(text), style="yellow"))

    def _child_line(self, event: Event) -> Text:
        data = event.data or {}
        return self._turn_line(event, f"waiting for session {data.get('session_id')}: {data.get('title')}")

    def _guard_line(self, event: Event) -> Text:
        data = event.data or {}
        effect = _GUARD_TEXTS.get(str(data.get("action")), str(data.get("action")))
        text = f"guard {data.get('guard')} ({data.get('when')}): {data.get('reason')}; {effect}"
        return self._turn_line(event, text)

    def _lost_worker_line(self, event: Event) -> Text:
        data = event.data or {}
        text = f"worker {data.get('worker')} was lost; turn {data.get('turn_number')} is being taken over"
        return Text(f"     {printable(text)}", style="yellow")

    def _steering_line(self, event: Event, template: str) -> Text:
        data = event.data or {}
        roster = data.get("participants")
        sentence = template.format(
            who=self._cast.name(str(data.get("participant_id"))),
            by=data.get("by"),
            role=data.get("role"),
            roster=", ".join(map(str, roster)) if isinstance(roster, list) else "",
        )
        return hanging(self._console, Text("     "), Text(printable(sentence), style="yellow"))

    def _question_line(self, event: Event, head: str) -> Text:
        data = event.data or {}
        asked, question = data.get("asked"), data.get("question")
        names = ", ".join(self._cast.name(str(name)) for name in asked) if isinstance(asked, list) else ""
        return self._turn_line(event, f"{head} {names}" + (f": {question}" if question else ""))

    def _broadcast_line(self, event: MapEvent) -> Text:
        message = (event.payload or {}).get("message")
        content = message.get("content") if isinstance(message, dict) else ""
        return dialog_line(
            self._console,
            None,
            Text(TO_ALL.ljust(self._cast.width), style="bold"),
            Text(printable(str(content))),
        )

    def _silent_turn_line(self, end: GrantEnd) -> Text:
        """Return the line of a turn without a message."""
        text = _SILENT_TURN_TEXTS.get(end.outcome, end.outcome.value)
        text += f": {printable(end.error)}" if end.error else ""
        text += "; will retry" if end.retried else ""
        style = "dim" if end.outcome in (GrantOutcome.MESSAGE, GrantOutcome.PASSED) else "yellow"
        return dialog_line(
            self._console, end.turn, self._cast.styled_name(end.participant), Text(text, style=style)
        )


def follow(
    job: CollabJob, console: Console, *, between: Callable[[], None], person: PersonAtTerminal | None = None
) -> JobResult:
    """Show a session until it ends.

    Args:
        job: The session.
        console: Console for the output.
        between: Callback, called repeatedly between events while the session runs.
        person: Who is asked the questions to them in this terminal.

    Returns:
        The result of the session.
    """
    with LiveView(console, job.collab(), job.spec) as view:
        for moment in job.live(deltas=console.is_terminal):
            if moment is not None:
                view.show(moment)
            if person is not None:
                _ask(person, view, may_be_asked=_changes_questions(moment))
            between()
    return job.result()


def _changes_questions(moment: SessionUpdate | Delta | ToolEvent | None) -> bool:
    if not isinstance(moment, SessionUpdate) or not isinstance(moment.event, Event):
        return False
    return moment.event.event_type in (*_WAIT_TEXTS, "turn.answered")


def _ask(person: PersonAtTerminal, view: LiveView, *, may_be_asked: bool) -> None:
    """Ask a person, without the progress line, which would overwrite what they type."""
    if may_be_asked or person.is_asked:
        is_new = person.look_for_question()
        view.show_progress(not person.is_asked)
        if is_new:
            person.show_question()
        person.send_answer()
        view.show_progress(not person.is_asked)


def moment_json(moment: SessionUpdate | Delta | ToolEvent) -> dict[str, JsonValue]:
    """Return one update as JSON data."""
    if isinstance(moment, Delta):
        return {"delta": moment.model_dump(mode="json")}
    if isinstance(moment, ToolEvent):
        return {"tool": moment.model_dump(mode="json", exclude_none=True)}
    event: dict[str, JsonValue] = {"event": moment.event.to_wire()}
    return (
        {**event, "messages": [message.to_wire() for message in moment.messages]}
        if moment.messages
        else event
    )
