"""Entries of a transcript: the messages of a turn with its attempts, tools, times and cost. Pure.

Messages and events of a session are read separately, each the newest part, so an entry shows what is known of its turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from ....models.attachments import Attachment
from ....models.protocol.dialog import Message
from ....models.text.ids import entry_key
from ....models.turns.tool_uses import tool_uses_of
from ..visible import make_visible
from .lanes import Span, queue_begins
from .markdown import Rendered, render_markdown

#: Outcomes of attempts without a message, in words; others are shown as they are.
_WORDS = {"lost": "its worker was lost"}
#: Maximum characters of a tool's arguments in its line.
_MAX_ARGUMENTS = 160


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that failed, and was followed by another one or by the end of the turn."""

    attempt: int
    error: str
    #: Milliseconds; None: unknown.
    took_ms: int | None
    task_id: str | None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool with its result."""

    name: str
    arguments: str
    result: str


@dataclass(frozen=True, slots=True)
class Text:
    """A message."""

    entry_id: str
    rendered: Rendered
    #: Characters of the whole text.
    characters: int
    cut_line: str
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True)
class TurnEntry:
    """A turn, or a message that is from no turn."""

    #: `turn-12` or `message-ENTRY`: id of the element.
    element: str
    #: Id of the newest stream entry in it; the order of entries.
    at: tuple[int, int]
    turn: int | None
    #: Participant id of the author, or the role of a message that has none.
    author: str
    #: Message from another dialog.
    is_history: bool = False
    texts: tuple[Text, ...] = ()
    tools: tuple[ToolCall, ...] = ()
    failures: tuple[Failure, ...] = ()
    #: What a turn without a message did.
    words: str = ""
    attempt: int = 1
    took_ms: int | None = None
    queued_ms: int | None = None
    tokens: int = 0
    cost_micros: int = 0
    task_id: str | None = None
    #: The turn is open: its state; empty: it is closed.
    state: str = ""
    #: Since when it is in this state; None: unknown.
    since_ms: int | None = None

    @property
    def is_bad(self) -> bool:
        """Return whether the turn ended with a failure."""
        return not self.texts and bool(self.failures)


def build_entries(
    messages: Sequence[tuple[str, Message]], spans: Sequence[Span], *, started_ms: int
) -> list[TurnEntry]:
    """Return the entries of some messages and attempts, oldest first.

    Turns without a message are left out if they ended before the first message.

    Args:
        messages: Ids of stream entries with their messages, oldest first.
        spans: Attempts as `build_timeline` returns them.
        started_ms: When the session was started.
    """
    queued = queue_begins(spans, started_ms=started_ms)
    by_turn: defaultdict[int, list[Span]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: span["attempt"]):
        by_turn[span["turn"]].append(span)
    texts: defaultdict[int, list[tuple[str, Message]]] = defaultdict(list)
    entries = []
    for entry_id, message in messages:
        if message.turn_number is None or message.former_speaker is not None:
            entries.append(_outside(entry_id, message))
        else:
            texts[message.turn_number].append((entry_id, message))
    entries += [_turn(turn, own, by_turn.get(turn, []), queued) for turn, own in texts.items()]
    first = min((entry.at for entry in entries), default=(0, 0))
    for turn, own in by_turn.items():
        if turn not in texts and (silent := _silent(turn, own, queued)) is not None and silent.at >= first:
            entries.append(silent)
    return sorted(entries, key=lambda entry: entry.at)


def live_entries(open_turns: Sequence[Mapping[str, Any]], texts: Mapping[int, str]) -> list[TurnEntry]:
    """Return the entries of the turns that are open, by number.

    Args:
        open_turns: The turns, as `session_json` returns them.
        texts: What each has written so far.
    """
    entries = []
    for turn in open_turns:
        text = texts.get(turn["turn"], "")
        since_ms = turn["began_ms"] or turn["queued_ms"]
        live = (Text(f"live-{turn['turn']}", render_markdown(text), len(text), "", ()),) if text else ()
        entries.append(
            TurnEntry(
                f"turn-{turn['turn']}",
                (since_ms or 0, 0),
                turn["turn"],
                str(turn["participant"]),
                texts=live,
                state="writes" if text and turn["state"] == "speaking" else str(turn["state"]),
                attempt=max(turn["attempt"], 1),
                since_ms=since_ms,
            )
        )
    return sorted(entries, key=lambda entry: entry.turn or 0)


def _text(entry_id: str, message: Message) -> Text:
    return Text(
        entry_id,
        render_markdown(message.content),
        len(message.content),
        message.cut_line,
        message.attachments,
    )


def _outside(entry_id: str, message: Message) -> TurnEntry:
    return TurnEntry(
        f"message-{entry_id}",
        entry_key(entry_id),
        message.turn_number,
        message.author or message.role.value,
        is_history=message.former_speaker is not None,
        texts=(_text(entry_id, message),),
    )


def _turn(
    turn: int, messages: list[tuple[str, Message]], spans: list[Span], queued: Mapping[str, int]
) -> TurnEntry:
    last_id, last = messages[-1]
    return TurnEntry(
        f"turn-{turn}",
        entry_key(messages[0][0]),
        turn,
        messages[0][1].author or "",
        texts=tuple(_text(entry_id, message) for entry_id, message in messages),
        tools=tuple(
            ToolCall(make_visible(use.name), _arguments(use.arguments), make_visible(use.result))
            for use in tool_uses_of(last)
        ),
        **_facts(spans, queued, end_ms=entry_key(last_id)[0]),
    )


def _silent(turn: int, spans: list[Span], queued: Mapping[str, int]) -> TurnEntry | None:
    """Return a turn that has ended without a message; None: it has not ended."""
    last = spans[-1]
    if last.get("ended_ms") is None or last.get("retried") or last.get("outcome") == "message":
        return None
    outcome = str(last.get("outcome") or "ended")
    return TurnEntry(
        f"turn-{turn}",
        (last["ended_ms"], 0),
        turn,
        str(last["participant"]),
        words=_WORDS.get(outcome, outcome),
        **_facts(spans, queued, end_ms=last["ended_ms"]),
    )


def _facts(spans: list[Span], queued: Mapping[str, int], *, end_ms: int) -> dict[str, Any]:
    """Return what the attempts of a turn say about it, as fields of its entry."""
    if not spans:
        return {}
    last = spans[-1]
    began, first = last.get("began_ms"), spans[0]
    since = queued.get(first["key"])
    return {
        "failures": tuple(_failure(span) for span in spans if span.get("error")),
        "attempt": last["attempt"],
        "took_ms": (last.get("ended_ms") or end_ms) - began if began else None,
        "queued_ms": first["began_ms"] - since if since is not None else None,
        "tokens": sum(span.get("tokens") or 0 for span in spans),
        "cost_micros": sum(span.get("cost_micros") or 0 for span in spans),
        "task_id": last.get("task_id"),
    }


def _failure(span: Span) -> Failure:
    began, ended = span.get("began_ms"), span.get("ended_ms")
    took = ended - began if began and ended else None
    return Failure(span["attempt"], make_visible(str(span["error"])), took, span.get("task_id"))


def _arguments(arguments: Mapping[str, JsonValue]) -> str:
    text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return make_visible(text if len(text) <= _MAX_ARGUMENTS else f"{text[:_MAX_ARGUMENTS]}…")
