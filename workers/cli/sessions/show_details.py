"""Output of `symposia show` and `export`: details of a session, and transcript of an alignment session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue
from rich.console import Console
from rich.text import Text

from ....jobs.collab import CollabJob
from ....models.sessions.plan import BoardEntry
from ....models.text.ids import timestamp_from_ms
from ....state.sessions.records import SessionState
from ..common.screen import ParticipantNames, dialog_line, printable
from .render import STATUS_STYLE, heading, outcome, usage_json

#: Minimum seconds in the queue for which a line is shown.
_LONG_S = 1.0


def details(job: CollabJob, screen: Console, *, last: int) -> Iterator[Text]:
    """Yield the lines that describe a session.

    Args:
        job: The session.
        screen: The console, for its width.
        last: Number of messages to show, counted from the newest.
    """
    collab, state = job.collab(), job.state()
    cast = ParticipantNames(collab.participants)
    yield heading(collab)
    ended = outcome(state.status, state.reason, state.detail)
    yield Text.assemble((ended, STATUS_STYLE[state.status]), " · ", " · ".join(_facts(state)))
    yield Text(f"purpose: {printable(collab.purpose)}")
    holder = job.turn_state().current_turn_holder
    if not state.is_final:
        speaking = [f"{cast.name(turn.participant)} ({turn.status})" for turn in state.open_turns()]
        yield Text("now: " + (", ".join(speaking) or f"planning, after the turn of {cast.name(holder)}"))
    if (queued_s := job.queued_for_s()) is not None and queued_s >= _LONG_S:
        yield Text(
            f"queued for {queued_s:.0f} s: no worker has taken it; see symposia doctor", style="yellow"
        )
    for entry in job.board():
        yield _item(entry, cast)
    messages = list(job.messages())
    if len(messages) > last:
        yield Text(f"     … {len(messages) - last} earlier messages", style="dim")
    for message in messages[len(messages) - last :] if last else ():
        yield dialog_line(
            screen, message.turn_number, cast.styled_speaker(message), Text(printable(message.content))
        )


def details_json(job: CollabJob) -> dict[str, JsonValue]:
    """Return a session with all its messages as JSON data."""
    state = job.state()
    return {
        "collab": job.collab().to_wire(),
        "dialog": job.dialog().to_wire(),
        "status": state.status.value,
        "reason": state.reason,
        "detail": state.detail,
        "queued_for_s": job.queued_for_s(),
        "turn_state": job.turn_state().model_dump(mode="json"),
        "turns": state.closed,
        "rounds": state.rounds,
        "usage": usage_json(state.usage),
        "usage_by_participant": {name: usage_json(spent) for name, spent in job.usage().items()},
        "board": [entry.model_dump(mode="json", exclude_none=True) for entry in job.board()],
    }


def _facts(state: SessionState) -> Iterator[str]:
    if state.stop_requested and not state.is_final:
        yield "stops after the turns in flight"
    yield f"{state.closed} turns"
    yield f"{state.rounds} rounds"
    yield f"{state.usage.tokens} tokens ({state.usage.input_tokens} in, {state.usage.output_tokens} out)"
    if state.usage.cost_micros:
        yield f"{state.usage.cost_micros / 1e6:.4f} US dollars"
    yield f"opened {timestamp_from_ms(state.opened_ms)}"


def _item(entry: BoardEntry, cast: ParticipantNames) -> Text:
    who = f" by {cast.name(entry.participant)}" if entry.participant else ""
    why = f" ({printable(entry.reason)})" if entry.reason else ""
    return Text(f"item: {printable(entry.item.text)}: {entry.status}{who}{why}")


def print_transcript(job: CollabJob) -> None:
    """Print the alignment document, and the findings of strict lint on standard error."""
    from ..common.screen import print_document

    text = job.transcript()
    print_document(text)
    _print_lint_findings(text)


def save_transcript(job: CollabJob) -> None:
    """Write the alignment document to `ID.dialogue.md` in the current folder.

    Print the findings of strict lint.
    """
    from ..common.screen import console

    text, path = job.transcript(), Path(f"{job.id}.dialogue.md")
    path.write_text(text, encoding="utf-8")
    console(stderr=True).print(f"Transcript written to {path}.")
    _print_lint_findings(text)


def _print_lint_findings(text: str) -> None:
    from ....models.alignment.transcript import lint_transcript
    from ..common.screen import console, printable

    for fault in lint_transcript(text):
        console(stderr=True).print(printable(fault), soft_wrap=True)
