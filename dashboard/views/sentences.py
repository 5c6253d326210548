"""The sentence on the page of a session: what it does, or why it does not move, and what happens next. Pure."""

from __future__ import annotations

from ...jobs.conditions import Condition
from ...models.sessions.shown_status import ShownStatus, shown_status
from ...models.text.redact import excerpt
from ...models.text.words import count_of, dollars
from .collab_row import CollabRow
from .health import without_worker
from .notices import At, Code, Name, Notice, Part, Span

#: Characters of a question in the sentence; the page has the whole question below.
_MAX_QUESTION = 200


def session_notice(row: CollabRow, condition: Condition, now_ms: int) -> Notice:
    """Return what a session does, or why it does not move.

    Args:
        row: The session in the list.
        condition: Its condition.
        now_ms: The time by the server's clock, in milliseconds since the epoch.
    """
    if row["attention"] == "unreadable":
        since: tuple[Part, ...] = (" since ", At(ms)) if (ms := row["attention_since_ms"]) else ()
        lead = ("Cannot be read", *since, ":")
        return Notice("bad", lead, (f"{row['attention_text']}. Other sessions are not concerned.",))
    status = shown_status(row["status"], row["reason"])
    match status:
        case ShownStatus.ACTIVE:
            return _active(condition, now_ms)
        case ShownStatus.SUSPENDED:
            rest = "Turns that run end first. It goes on when it is resumed."
            return Notice("quiet", ("Suspended since ", At(row["updated_ms"]), *_by(row), "."), (rest,))
        case ShownStatus.DRAFT:
            return Notice("quiet", ("Waits to be started.",), ("Nothing runs before that.",))
        case _:
            return _ended(row, status)


def _ended(row: CollabRow, status: ShownStatus) -> Notice:
    at = At(row["ended_ms"] or row["updated_ms"])
    reason = (row["reason"] or "").replace("_", " ")
    detail: tuple[Part, ...] = (Name(row["detail"]),) if row["detail"] else ()
    match status:
        case ShownStatus.FAILED:
            error = row["last_error"]
            turn: tuple[Part, ...] = ()
            if error is not None and error["turn"] is not None:
                turn = f" in turn {error['turn']} (", Name(error["participant"] or ""), ")"
            return Notice("bad", ("Failed at ", at, *turn, "."), (Name(error["text"]),) if error else detail)
        case ShownStatus.LIMIT:
            what = (": ", *detail) if detail else ()
            return Notice("warn", (f"Stopped by its {reason}", *what, "."), ("At ", at, f", {_totals(row)}."))
        case ShownStatus.COMPLETED:
            return Notice(
                "good", ("Completed at ", at, f": {reason}" if reason else "", "."), (_totals(row), ".")
            )
        case _:
            why = detail or ((reason,) if reason != "cancelled" else ())
            return Notice("quiet", ("Cancelled at ", at, *_by(row), ":" if why else "."), why)


def _by(row: CollabRow) -> tuple[Part, ...]:
    """Return who changed the status of a session last."""
    return (" by ", Name(row["actor"])) if row["actor"] else ()


def _totals(row: CollabRow) -> str:
    parts = [count_of(row["turns"], "turn"), count_of(row["tokens"], "token", spec=",")]
    if row["cost_micros"]:
        parts.append(dollars(row["cost_micros"]))
    return ", ".join(parts)


def _active(it: Condition, now_ms: int) -> Notice:
    match it.kind:
        case "lost":
            return _lost(it, now_ms)
        case "worker":
            return _without_worker(it, now_ms)
        case "stuck":
            for_ms = Span(now_ms - (it.since_ms or now_ms))
            return Notice("bad", ("Nothing happens for ", for_ms, "."), (f"{_capital(it.detail)}.",))
        case "person":
            return _person(it, now_ms)
        case "retry":
            return _retry(it, now_ms)
        case "budget" | "postponed":
            return _budget(it)
        case _:
            return _moving(it, now_ms)


def _lost(it: Condition, now_ms: int) -> Notice:
    lead: tuple[Part, ...] = ("Worker ", Name(it.worker)) if it.worker else ("The worker of the turn",)
    lease: tuple[Part, ...] = ()
    then = f" Now {it.then}."
    if it.due_ms is not None:
        lease = (" The lease ends in ", Span(it.due_ms - now_ms), f"; then {it.then}.")
        then = ""
    since = At(it.since_ms or now_ms)
    return Notice(
        "bad",
        (*lead, " is lost since ", since, "."),
        (Name(it.who), f" was speaking in turn {it.turn}.", *lease, then),
    )


def _without_worker(it: Condition, now_ms: int) -> Notice:
    command = f"symposia worker --queue {it.queues}" if it.queues else "symposia worker"
    start: tuple[Part, ...] = (" Nothing is lost: ", it.then, ": ", Code(command), ".")
    if it.count and it.detail.startswith("no worker"):
        since: tuple[Part, ...] = (" since ", At(it.since_ms)) if it.since_ms else ()
        turns = f"{_capital(count_of(it.count, 'turn'))} {'waits' if it.count == 1 else 'wait'} for it."
        return Notice("bad", (_capital(it.detail), *since, "."), (turns, *start))
    return Notice("bad", without_worker(it.since_ms, now_ms), (f"{_capital(it.detail)}.", *start))


def _person(it: Condition, now_ms: int) -> Notice:
    names: list[Part] = []
    for number, (name, role) in enumerate(zip(it.answerers, it.answerer_roles, strict=True)):
        names += [" or "] if number else []
        names += [Name(name), f" ({role})" if role else ""]
    asks: tuple[Part, ...] = (f"It is turn {it.turn}.",)
    if it.who:
        asks = (
            Name(it.who),
            f" asks in turn {it.turn}",
            *((": “", Name(excerpt(it.detail, _MAX_QUESTION)), "”") if it.detail else (".",)),
        )
    until: tuple[Part, ...] = ()
    if it.due_ms is not None:
        until = (f" Without an answer {it.then} in ", Span(it.due_ms - now_ms), ", at ", At(it.due_ms), ".")
    lead = (*names, " must answer, for ", Span(now_ms - (it.since_ms or now_ms)), ".")
    return Notice("warn", lead, (*asks, *until))


def _retry(it: Condition, now_ms: int) -> Notice:
    most = f" of {it.attempts}" if it.attempts else ""
    lead = (f"Attempt {it.attempt}{most} in ", Span(max(0, (it.due_ms or now_ms) - now_ms)), ".")
    times = {1: "once", 2: "twice"}.get(it.attempt - 1, f"{it.attempt - 1} times")
    error: tuple[Part, ...] = (": ", Name(it.detail)) if it.detail else ()
    return Notice(
        "warn",
        lead,
        (f"Turn {it.turn} (", Name(it.who), f") failed {times}", *error, ". Nothing is needed from you."),
    )


def _budget(it: Condition) -> Notice:
    again: tuple[Part, ...] = (" It is tried again at ", At(it.due_ms), ".") if it.due_ms is not None else ()
    if it.kind == "postponed":
        lead: tuple[Part, ...] = (f"Turn {it.turn} (", Name(it.who), ") waits for a budget or a rate limit.")
        return Notice("", lead, again)
    since: tuple[Part, ...] = (" since ", At(it.since_ms)) if it.since_ms else ()
    return Notice("warn", (_capital(it.detail), *since, "."), (f"{_capital(it.then)}.", *again))


def _moving(it: Condition, now_ms: int) -> Notice:
    passed = Span(now_ms - (it.since_ms or now_ms))
    whose: tuple[Part, ...] = (f"Turn {it.turn} (", Name(it.who), ")")
    match it.kind:
        case "speaking" if it.count > 1:
            worker: tuple[Part, ...] = (", on worker ", Name(it.worker)) if it.worker else ()
            lead: tuple[Part, ...] = (f"{it.count} participants speak.",)
            return Notice("", lead, ("The longest is ", Name(it.who), ", for ", passed, *worker, "."))
        case "speaking":
            worker = (
                (f"Turn {it.turn}, on worker ", Name(it.worker), ".") if it.worker else (f"Turn {it.turn}.",)
            )
            return Notice("", (Name(it.who), " speaks for ", passed, "."), worker)
        case "queued":
            return Notice("", (*whose, " waits for a free process for ", passed, "."))
        case "session":
            return Notice(
                "", (*whose, " waits for its sub-session for ", passed, "."), (Code(it.detail[:8]),)
            )
        case "remote":
            return Notice("", (*whose, " waits for a remote system for ", passed, "."))
        case _:
            return Notice("", ("The next turn is being planned.",))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
