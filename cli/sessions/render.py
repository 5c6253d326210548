"""Rendering of a session and its result for a terminal: details, transcript, result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import JsonValue
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...jobs.collab import CollabJob
from ...jobs.conditions import Condition
from ...jobs.reading import facts_of
from ...jobs.result import Item, ItemState, JobResult, items_of
from ...jobs.session_condition import find_condition
from ...models.protocol.collab import Collab, CollabStatus
from ...models.protocol.dialog import Message
from ...models.sessions.priority import Priority
from ...models.sessions.progress import describe_limit
from ...models.sessions.shown_status import ShownStatus, shown_status
from ...models.sessions.spec import SessionSpec
from ...models.text.ids import moment_from_ms
from ...models.text.json_text import dump_json
from ...models.text.redact import excerpt
from ...models.text.words import count_of, dollars, moment_in_words
from ...state.sessions.progress import limits_of_session
from ...state.sessions.records import SessionState
from ...tasks.sessions.rendering import output_of
from ...tasks.views.turn_context import last_messages
from ..common.dialog_lines import ParticipantNames, dialog_line, hanging
from ..common.screen import console, plain_table, print_document, printable

STATUS_STYLE = {
    ShownStatus.DRAFT: "blue",
    ShownStatus.ACTIVE: "cyan",
    ShownStatus.SUSPENDED: "yellow",
    ShownStatus.FAILED: "red",
    ShownStatus.LIMIT: "yellow",
    ShownStatus.COMPLETED: "green",
    ShownStatus.CANCELLED: "red",
}
#: Statuses whose change is shown with the person who made it.
_BY_PEOPLE = (CollabStatus.SUSPENDED, CollabStatus.CANCELLED)


def heading(collab: Collab) -> Text:
    """Return title, mode and id of a session on one line."""
    line = Text.assemble(
        (printable(collab.title), "bold"), f"  {collab.mode.value}  ", (collab.collab_id, "dim")
    )
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def seconds_of(result: JobResult) -> float:
    """Return the duration of the session in seconds, from opening to end."""
    began, ended = result.dialog.started_at, result.dialog.ended_at
    return (ended - began).total_seconds() if began and ended else 0.0


def outcome(status: CollabStatus, reason: str | None, detail: str | None = None) -> str:
    """Return the status as shown, and the reason, such as `failed (ann: no answer)` or `limit: token_budget`.

    The reason is omitted if it is equal to the status.
    """
    shown = shown_status(status.value, reason)
    why = "" if reason in (None, "", shown.value) else f": {reason}"
    return f"{shown.value}{why}" + (f" ({printable(detail)})" if detail else "")


def result_line(result: JobResult) -> Text:
    """Return the result of a session on one line."""
    mark = ("✓ ", "green") if result.ok else ("✗ ", "red")
    facts = [
        outcome(result.collab.status, result.reason, result.detail),
        count_of(result.turns, "turn"),
        count_of(result.usage.tokens, "token"),
        *([dollars(result.usage.cost_micros)] if result.usage.cost_micros else []),
        f"{seconds_of(result):.2f} s",
    ]
    return Text.assemble(mark, " · ".join(facts))


def result_json(result: JobResult) -> dict[str, JsonValue]:
    """Return the result and dialog of a session as JSON data."""
    return {
        "collab": result.collab.to_wire(),
        "dialog": result.dialog.to_wire(),
        "reason": result.reason,
        "detail": result.detail,
        "turns": result.turns,
        "rounds": result.rounds,
        "usage": result.usage.to_json_data(),
        "output": result.output_data,
    }


def summary_table(results: Sequence[JobResult]) -> Table:
    """Return a table of session results."""
    numbers = ("turns", "tokens", "seconds", "turns/s")
    table = plain_table("mode", "ended", *numbers, right=numbers)
    for result in results:
        seconds = seconds_of(result)
        table.add_row(
            result.collab.mode.value,
            Text(outcome(result.collab.status, result.reason), style="" if result.ok else "red"),
            str(result.turns),
            str(result.usage.tokens),
            f"{seconds:.2f}",
            f"{result.turns / seconds if seconds else 0.0:.1f}",
        )
    return table


#: Minimum seconds in the queue for which a line is shown.
_LONG_S = 1.0


def details(job: CollabJob, screen: Console, *, last: int, stuck_ms: int) -> Iterator[Text]:
    """Yield the lines that describe a session.

    Args:
        job: The session.
        screen: The console, for its width.
        last: Number of messages to show, counted from the newest.
        stuck_ms: Milliseconds without progress after which it counts as stuck.
    """
    collab, state = job.collab(), job.state()
    cast = ParticipantNames(collab.participants)
    yield heading(collab)
    ended = outcome(state.status, state.reason, state.detail)
    yield Text.assemble(
        (ended, STATUS_STYLE[shown_status(state.status.value, state.reason)]),
        f" by {printable(state.actor)}" if state.actor and state.status in _BY_PEOPLE else "",
        " · ",
        " · ".join(_facts(state)),
    )
    yield hanging(screen, Text("purpose: "), Text(printable(collab.purpose)))
    yield from _origin(job.spec)
    for label, names in (("approvers", job.spec.approvers), ("observers", job.spec.observers)):
        if names:
            yield hanging(screen, Text(f"{label}: "), Text(printable(", ".join(names))))
    if inputs := job.spec.inputs:
        given = ", ".join(f"{name}={dump_json(value)}" for name, value in inputs.items())
        yield hanging(screen, Text("inputs: "), Text(printable(given)))
    yield from _progress(job, state, cast)
    condition = find_condition(job, state, stuck_ms=stuck_ms)
    yield from _why(condition, job.queued_for_s() or 0, now_ms=state.now_ms)
    messages = list(job.messages())
    for item in items_of(job.board(), last_messages(messages)):
        yield _item(screen, item, cast)
    yield from _family(job)
    if len(messages) > last:
        yield Text(f"     … {count_of(len(messages) - last, 'earlier message')}", style="dim")
    for message in messages[len(messages) - last :] if last else ():
        yield dialog_line(screen, message.turn_number, cast.styled_speaker(message), message_text(message))
    if (output := output_of(state, messages)) is not None:
        yield hanging(screen, Text("output: "), Text(printable(dump_json(output))))


def _progress(job: CollabJob, state: SessionState, cast: ParticipantNames) -> Iterator[Text]:
    if (now := _now(job, state, cast)) is not None:
        yield Text(f"now: {now}")
    if limits := limits_of_session(state, job.spec.stop, job.collab().mode):
        yield Text(f"progress: {', '.join(map(describe_limit, limits))}")


def _why(condition: Condition, queued_s: float, *, now_ms: int) -> Iterator[Text]:
    """Yield a line about a session that does not move."""
    waited = f" ({queued_s:.0f} s in the queue)" if queued_s >= _LONG_S else ""
    if why := condition.sentence(now_ms):
        yield Text(f"{condition.badge}{waited}: {printable(why)}", style="yellow")
    elif condition.kind == "queued" and waited:
        yield Text(f"waits for a free process{waited}", style="yellow")


def _now(job: CollabJob, state: SessionState, cast: ParticipantNames) -> str | None:
    """Return what happens in a session now; None: it has ended."""
    if state.is_final:
        return None
    if state.status is CollabStatus.DRAFT:
        return f"a draft; `symposia activate {job.id[:8]}` starts it"
    holder = job.turn_state().current_turn_holder
    before = f", after the turn of {cast.name(holder)}" if holder else ""
    speaking = [f"{cast.name(turn.participant)} ({turn.status})" for turn in state.open_turns()]
    return ", ".join(speaking) or f"planning{before}"


def message_text(message: Message) -> Text:
    """Return the text of a message, followed by the names of its attachments."""
    text = Text(printable(message.content))
    if message.cut_line:
        text.append(f"\n{message.cut_line}", style="yellow")
    for attachment in message.attachments:
        text.append(
            f"\n[{printable(attachment.name)}, {attachment.media_type}, {size_of(attachment.size)}]",
            style="dim",
        )
    return text


def size_of(size: int) -> str:
    """Return a number of bytes for people."""
    return count_of(size, "byte") if size < 10_000 else f"{size / 1_000:,.0f} kB"


def _family(job: CollabJob) -> Iterator[Text]:
    """Yield a line about the parent of a session, and one about each of its sub-sessions."""
    if job.parent is not None:
        yield Text(f"parent: session {job.parent.session_id}, turn {job.parent.turn}")
    for child in job.children():
        turn = child.parent.turn if child.parent else 0
        state = child.state()
        ended = outcome(state.status, state.reason)
        yield Text(f"turn {turn}: session {child.id} {ended}: {printable(facts_of(child).collab.title)}")


def details_json(job: CollabJob, *, stuck_ms: int = 300_000) -> dict[str, JsonValue]:
    """Return a session with all its messages as JSON data; `stuck_ms` as in `details`."""
    state, dialog, board = job.state(), job.dialog(), job.board()
    condition = find_condition(job, state, stuck_ms=stuck_ms)
    items = items_of(board, last_messages(dialog.messages))
    return {
        "collab": job.collab().to_wire(),
        "dialog": dialog.to_wire(),
        "status": state.status.value,
        "shown": shown_status(state.status.value, state.reason).value,
        "reason": state.reason,
        "detail": state.detail,
        "actor": state.actor,
        **condition.to_json(),
        "queued_for_s": job.queued_for_s(),
        "awaited_agents": list(state.awaited_agents),
        "turn_state": job.turn_state().model_dump(mode="json"),
        "turns": state.closed,
        "rounds": state.rounds,
        "limits": [asdict(use) for use in limits_of_session(state, job.spec.stop, job.collab().mode)],
        "usage": state.usage.to_json_data(),
        "usage_by_participant": {name: spent.to_json_data() for name, spent in job.usage().items()},
        "output": output_of(state, dialog.messages),
        "priority": job.spec.priority.value,
        "owner": job.spec.owner,
        "history": None if (past := job.spec.history) is None else past.model_dump(mode="json"),
        "items": [item.to_json_data() for item in items],
        "approvers": list(job.spec.approvers),
        "observers": list(job.spec.observers),
        "inputs": dict(job.spec.inputs),
        "board": [entry.model_dump(mode="json", exclude_none=True) for entry in board],
        "parent": None if job.parent is None else job.parent.model_dump(mode="json"),
        "descendants": [descendant._asdict() for descendant in job.descendants()],
    }


def _origin(spec: SessionSpec) -> Iterator[Text]:
    if spec.priority is not Priority.NORMAL:
        yield Text(f"priority: {spec.priority}")
    if spec.owner is not None:
        yield Text(f"owner: {printable(spec.owner)}")
    if spec.thread_id is not None:
        yield Text(f"thread: {spec.thread_id}")
    if (history := spec.history) is not None:
        how = f"fork of {history.session} before turn {history.before_turn}"
        yield Text(f"continues: {history.session}" if history.before_turn is None else how)


def _facts(state: SessionState) -> Iterator[str]:
    if state.stop_requested and not state.is_final:
        yield "stops after the turns in flight"
    yield count_of(state.closed, "turn")
    yield count_of(state.rounds, "round")
    yield f"{count_of(state.usage.tokens, 'token')} ({state.usage.input_tokens} in, {state.usage.output_tokens} out)"
    if state.usage.cost_micros:
        yield dollars(state.usage.cost_micros)
    yield f"opened {moment_in_words(moment_from_ms(state.opened_ms))}"


def _item(screen: Console, item: Item, cast: ParticipantNames) -> Text:
    who = f" by {cast.name(item.claimant)}" if item.claimant else ""
    after = f" (after {printable(', '.join(item.after))})" if item.state is ItemState.WAITING else ""
    why = f" ({printable(item.reason)})" if item.reason else ""
    name = "" if item.id.isdigit() else f" {item.id}"
    line = Text(f"item{name}: {printable(item.text)}: {item.state}{who}{after}{why}")
    if item.result:
        line.append(
            f" -> {printable(excerpt(item.result, max(20, screen.width - line.cell_len - 4)))}", style="dim"
        )
    return line


def print_transcript(job: CollabJob) -> None:
    """Print the alignment document, and the findings of strict lint on standard error."""
    text = job.transcript()
    print_document(text)
    _print_lint_findings(text)


def save_transcript(job: CollabJob) -> None:
    """Write the alignment document to `ID.dialogue.md` in the current folder.

    Print the findings of strict lint.
    """
    text, path = job.transcript(), Path(f"{job.id}.dialogue.md")
    path.write_text(text, encoding="utf-8")
    console(stderr=True).print(f"Transcript written to {path}.")
    _print_lint_findings(text)


def _print_lint_findings(text: str) -> None:
    from ...alignment.transcript import lint_transcript

    for fault in lint_transcript(text):
        console(stderr=True).print(printable(fault), soft_wrap=True)
