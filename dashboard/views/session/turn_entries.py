"""Entries of a transcript: the messages of a turn with its attempts, tools, times and cost. Pure.

Messages and events of a session are read separately, each the newest part, so an entry shows what is known of its turn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from ....models.attachments import Attachment
from ....models.protocol.dialog import Message
from ....models.text.ids import entry_key
from ....models.turns.tool_uses import tool_uses_of
from ..visible import make_visible
from .lanes import PAUSING, WAITING, Span
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
    #: Milliseconds from its end until the next attempt was in the queue; None: there is none yet.
    paused_ms: int | None
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
    #: Turn, or else the Celery task, that planned it; None: unknown, or the session began with it.
    planner_turn: int | None = None
    planner_task: str | None = None
    took_ms: int | None = None
    #: Milliseconds in which its attempts waited for a worker, and in which it waited for answers.
    queued_ms: int = 0
    answer_ms: int = 0
    tokens: int = 0
    cost_micros: int = 0
    task_id: str | None = None
    #: The turn is open: its state; empty: it is closed.
    state: str = ""
    #: Since when it is in this state; None: unknown.
    since_ms: int | None = None
    #: When its next attempt may begin; None: it does not pause.
    next_ms: int | None = None

    @property
    def is_bad(self) -> bool:
        """Return whether the turn ended with a failure."""
        return not self.texts and bool(self.failures)


class TurnFacts:
    """What the events say about turns.

    Args:
        spans: Attempts as `build_timeline` returns them.
        waits: Waits for an answer.
    """

    def __init__(self, spans: Sequence[Span], waits: Sequence[Span] = ()) -> None:
        self.by_turn: defaultdict[int, list[Span]] = defaultdict(list)
        for span in sorted(spans, key=lambda span: span["attempt"]):
            self.by_turn[span["turn"]].append(span)
        self._turns = {span["task_id"]: span["turn"] for span in spans if span.get("task_id")}
        self._answer_ms: Counter[int] = Counter()
        for wait in waits:
            if wait["until_ms"] is not None:
                self._answer_ms[wait["turn"]] += wait["until_ms"] - wait["from_ms"]

    def of_open(self, turn: int) -> dict[str, Any]:
        """Return fields of the entry of a turn: who planned it, its attempts and its waits."""
        if not (spans := self.by_turn.get(turn)):
            return {}
        parent = next((span["parent_id"] for span in spans if span.get("parent_id")), None)
        planner = self._turns.get(parent)
        nexts = [*spans[1:], None]
        return {
            "planner_turn": planner,
            "planner_task": parent if planner is None else None,
            "failures": tuple(
                _failure(span, after) for span, after in zip(spans, nexts, strict=True) if span.get("error")
            ),
            "queued_ms": sum(span.get("waited_ms") or 0 for span in spans),
            "answer_ms": self._answer_ms[turn],
            "task_id": spans[-1].get("task_id"),
        }

    def of_closed(self, turn: int, *, end_ms: int) -> dict[str, Any]:
        """Return these fields, and the time and cost, of a turn that has ended."""
        if not (spans := self.by_turn.get(turn)):
            return {}
        last = spans[-1]
        began = last.get("began_ms")
        return {
            **self.of_open(turn),
            "attempt": last["attempt"],
            "took_ms": (last.get("ended_ms") or end_ms) - began if began else None,
            "tokens": sum(span.get("tokens") or 0 for span in spans),
            "cost_micros": sum(span.get("cost_micros") or 0 for span in spans),
        }


def build_entries(messages: Sequence[tuple[str, Message]], facts: TurnFacts) -> list[TurnEntry]:
    """Return the entries of some messages and attempts, oldest first.

    Turns without a message are left out if they ended before the first message.

    Args:
        messages: Ids of stream entries with their messages, oldest first.
        facts: Facts of the turns.
    """
    texts: defaultdict[int, list[tuple[str, Message]]] = defaultdict(list)
    entries = []
    for entry_id, message in messages:
        if message.turn_number is None or message.former_speaker is not None:
            entries.append(_outside(entry_id, message))
        else:
            texts[message.turn_number].append((entry_id, message))
    entries += [_turn(turn, own, facts) for turn, own in texts.items()]
    first = min((entry.at for entry in entries), default=(0, 0))
    for turn in facts.by_turn:
        if turn not in texts and (silent := _silent(turn, facts)) is not None and silent.at >= first:
            entries.append(silent)
    return sorted(entries, key=lambda entry: entry.at)


def live_entries(
    open_turns: Sequence[Mapping[str, Any]], texts: Mapping[int, str], facts: TurnFacts
) -> list[TurnEntry]:
    """Return the entries of the turns that are open, by number.

    Args:
        open_turns: The turns, as `session_json` returns them.
        texts: What each has written so far.
        facts: Facts of the turns.
    """
    entries = []
    for turn in open_turns:
        state, text = str(turn["state"]), texts.get(turn["turn"], "")
        since_ms = turn["queued_ms"] if state in WAITING else turn["parked_ms"] or turn["began_ms"]
        live = (Text(f"live-{turn['turn']}", render_markdown(text), len(text), "", ()),) if text else ()
        entries.append(
            TurnEntry(
                f"turn-{turn['turn']}",
                (since_ms or 0, 0),
                turn["turn"],
                str(turn["participant"]),
                texts=live,
                state="writes" if text and state == "speaking" else state,
                attempt=max(turn["attempt"] + (state == "retries"), 1),
                since_ms=None if state in PAUSING else since_ms,
                next_ms=since_ms if state in PAUSING else None,
                **facts.of_open(turn["turn"]),
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


def _turn(turn: int, messages: list[tuple[str, Message]], facts: TurnFacts) -> TurnEntry:
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
        **facts.of_closed(turn, end_ms=entry_key(last_id)[0]),
    )


def _silent(turn: int, facts: TurnFacts) -> TurnEntry | None:
    """Return a turn that has ended without a message; None: it has not ended."""
    last = facts.by_turn[turn][-1]
    if last.get("ended_ms") is None or last.get("retried") or last.get("outcome") == "message":
        return None
    outcome = str(last.get("outcome") or "ended")
    return TurnEntry(
        f"turn-{turn}",
        (last["ended_ms"], 0),
        turn,
        str(last["participant"]),
        words=_WORDS.get(outcome, outcome),
        **facts.of_closed(turn, end_ms=last["ended_ms"]),
    )


def _failure(span: Span, after: Span | None) -> Failure:
    began, ended = span.get("began_ms"), span.get("ended_ms")
    took = ended - began if began and ended else None
    next_ms = after["began_ms"] - (after.get("waited_ms") or 0) if after and after.get("began_ms") else None
    paused = next_ms - ended if next_ms and ended else None
    return Failure(span["attempt"], make_visible(str(span["error"])), took, paused, span.get("task_id"))


def _arguments(arguments: Mapping[str, JsonValue]) -> str:
    text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return make_visible(text if len(text) <= _MAX_ARGUMENTS else f"{text[:_MAX_ARGUMENTS]}…")
