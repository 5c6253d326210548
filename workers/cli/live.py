"""Following a session on the screen: who speaks, what was said, how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

from pydantic import JsonValue
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
from rich.text import Text

from ...job import CollabJob, JobResult
from ...models.collab import Collab
from ...models.deltas import Delta
from ...models.events import MapEvent, MAPEventType
from ...models.meta import Event
from ...models.spec import SessionSpec
from ...state.live import Moment
from ...tasks.task_tree import Closed, Outcome
from .screen import TO_ALL, Cast, printable, row
from .tally import Tally, expected_turns
from .voices import Voices

_FATES = {
    Outcome.MESSAGE: "decided without a word",
    Outcome.EXPIRED: "its worker was lost; another one takes the turn",
    Outcome.DROPPED: "nobody waits for it any more",
    Outcome.CANCELLED: "the session ended before it could speak",
    Outcome.ASKED: "has an answer and goes on",
    Outcome.REASSIGNED: "did not answer in time; somebody else takes the turn",
}
#: How it is told that a turn waits for somebody.
_ASKED = {
    "turn.parked": "waits for",
    "turn.reminded": "still waits for",
    "turn.escalated": "nobody answered in time; now waits for",
    "turn.reassigned": "nobody answered in time; now waits for",
}

#: How it is told that somebody steers.
_STEERED = {
    "participant.added": "{by} lets {who} take part from the next round on",
    "participant.removed": "{by} lets {who} take part no longer, from the next round on",
    "participant.instructed": "{by} tells {who} something else from their next turn on",
    "message.posted": "{by} has something to say as {role}",
    "roster.changed": "from now on: {roster}",
}


class LiveView:
    """Prints what happens in one session; on a terminal with a line of progress below.

    A context: the line of progress lasts as long as it does.
    """

    def __init__(self, console: Console, collab: Collab, spec: SessionSpec) -> None:
        self._console = console
        self._cast = Cast(collab.participants)
        self._tally = Tally()
        self._suspended = False
        total = expected_turns(collab, spec)
        bar = (BarColumn(bar_width=24), MofNCompleteColumn()) if total else ()
        self._progress = Voices(
            *(SpinnerColumn(), TextColumn("{task.description}", markup=False), *bar),
            console=console,
            cast=self._cast,
        )
        self._line = self._progress.add_task(self._now(), total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, moment: Moment | Delta) -> None:
        """Prints one moment of the session; what is being said is shown until it is written."""
        if isinstance(moment, Delta):
            self._progress.drafts.take(moment)
            return
        for message in moment.messages:
            self._progress.drafts.written(message.turn_number)
        for line in self._lines(moment):
            self._console.print(line)
        if isinstance(moment.event, MapEvent):
            self._tally.take(moment.event)
        self._progress.update(self._line, description=self._now(), completed=self._tally.turns)

    def drafts_shown(self) -> Iterator[Text]:
        """What is being said right now, as it stands below the dialog."""
        return self._progress.shown()

    def _now(self) -> str:
        names = ", ".join(self._cast.name(name) for name in self._tally.speaking.values())
        verb = "speak" if len(self._tally.speaking) > 1 else "speaks"
        now = f"{names} {verb}" if names else "waiting for a worker"
        now = f"suspended, {now}" if self._suspended else now
        return f"{now} · {self._tally.tokens} tokens"

    def _lines(self, moment: Moment) -> Iterator[Text]:
        event = moment.event
        if isinstance(event, Event):
            yield from self._noted(event)
        elif event.event_type is MAPEventType.BROADCAST_SENT:
            yield self._to_all(event)
        for message in moment.messages:
            name = self._cast.speaker(message)
            yield row(self._console, message.turn_number, name, Text(printable(message.content)))
        if isinstance(event, MapEvent) and event.event_type is MAPEventType.TURN_COMPLETED:
            closed = Closed.of(event)
            if all(message.turn_number != closed.turn for message in moment.messages):
                yield self._silent(closed)

    def _noted(self, event: Event) -> Iterator[Text]:
        """Pauses and their ends, who is asked, and who steers."""
        event_type = event.event_type
        if event_type in _ASKED:
            yield self._asked(event, _ASKED[event_type])
        elif event_type == "session.suspended":
            self._suspended = True
            yield Text("     suspended: `symposia resume` lets it go on", style="yellow")
        elif event_type == "session.active" and self._suspended:
            self._suspended = False
            yield Text("     resumed", style="yellow")
        elif event_type in _STEERED:
            yield self._steered(event, _STEERED[event_type])

    def _steered(self, event: Event, words: str) -> Text:
        data = event.data or {}
        roster = data.get("participants")
        told = words.format(
            who=self._cast.name(str(data.get("participant_id"))),
            by=data.get("by"),
            role=data.get("role"),
            roster=", ".join(map(str, roster)) if isinstance(roster, list) else "",
        )
        return Text(f"     {printable(told)}", style="yellow")

    def _asked(self, event: Event, words: str) -> Text:
        data = event.data or {}
        asked, question, number = data.get("asked"), data.get("question"), data.get("turn_number")
        names = ", ".join(self._cast.name(str(name)) for name in asked) if isinstance(asked, list) else ""
        words = f"{words} {names}" + (f": {printable(str(question))}" if question else "")
        name = self._cast.styled(str(data.get("participant_id")))
        turn = number if isinstance(number, int) else None
        return row(self._console, turn, name, Text(words, style="yellow"))

    def _to_all(self, event: MapEvent) -> Text:
        message = (event.payload or {}).get("message")
        content = message.get("content") if isinstance(message, dict) else ""
        return row(
            self._console,
            None,
            Text(TO_ALL.ljust(self._cast.width), style="bold"),
            Text(printable(str(content))),
        )

    def _silent(self, end: Closed) -> Text:
        """A turn in which nothing was said."""
        words = _FATES.get(end.outcome, end.outcome.value)
        words += f": {printable(end.error)}" if end.error else ""
        words += "; it is tried again" if end.retried else ""
        style = "dim" if end.outcome in (Outcome.MESSAGE, Outcome.PASSED) else "yellow"
        return row(self._console, end.turn, self._cast.styled(end.participant), Text(words, style=style))


def follow(job: CollabJob, console: Console, *, between: Callable[[], None]) -> JobResult:
    """Shows a session until it ends; `between` is called again and again meanwhile."""
    with LiveView(console, job.collab(), job.spec) as view:
        for moment in job.live(deltas=console.is_terminal):
            if moment is not None:
                view.show(moment)
            between()
    return job.result()


def moment_json(moment: Moment | Delta) -> dict[str, JsonValue]:
    """One moment as data."""
    if isinstance(moment, Delta):
        return {"delta": moment.model_dump(mode="json")}
    event: dict[str, JsonValue] = {"event": moment.event.to_wire()}
    return {**event, "messages": [it.to_wire() for it in moment.messages]} if moment.messages else event
