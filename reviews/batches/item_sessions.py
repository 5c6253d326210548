"""The session that reviews one item: its opening, and its result. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from pydantic import JsonValue

from ...agents.reviewers.code import fence_text, fenced_blocks
from ...models.protocol.collab import CollabMode, CollabStatus
from ...models.protocol.dialog import Message
from ...models.protocol.events import MapEvent, MAPEventType
from ...models.review.answers import ReviewerAnswer, parse_reviewer_answer
from ...models.review.findings import Finding, with_snippets
from ...models.review.panels import Panel, Seat
from ...models.review.runs import Item, ItemResult, ItemState
from ...models.sessions.stop_conditions import CostBudget, StopCondition, TokenBudget
from ...models.sessions.stop_syntax import read_stop
from ...models.sessions.submission import Submission
from ...models.text.ids import derived_id
from ...state.reviews.records import BatchHead, ItemRecord
from ...state.sessions.records import SessionState
from ...tasks.sessions.task_tree import GrantEnd, GrantOutcome
from ..inline_ignores import with_ignores
from ..sources.archived_sessions import REVIEW_TAG
from .context import REVIEW_PARAMETER

_LANGUAGES = {
    ".py": "python",
    ".pyi": "python",
    ".md": "markdown",
    ".yml": "yaml",
    ".js": "javascript",
    ".ts": "typescript",
}
_PLAIN_NAME = re.compile(r"[\w.-]{1,100}")
#: Stop reasons of sessions that end before their panel has finished.
_EARLY_END_REASONS = frozenset({"token_budget", "cost_budget", "deadline", "no_answer", "exhausted"})
_ANSWER_FORMAT = (
    'Answer with JSON and nothing else: {"findings": [{"line": 3, "end_line": 4, "rule": "short-name", '
    '"severity": "critical, high, medium, low or info", "message": "what is wrong", '
    '"suggestion": "what to do", "confidence": 0.8}], "summary": "one sentence"}'
)
_TITLE_CHARACTERS = 200


def item_session_id(batch_id: str, number: int, attempt: int) -> str:
    """Return the id of the session that reviews an item.

    Always the same, so that the session is opened once.
    """
    return derived_id(f"{batch_id}|{number}|{attempt}")


def opening_of(item: Item, text: str) -> str:
    """Return the opening message: the whole item in a fence, and the format of an answer."""
    path = PurePosixPath(item.path)
    language = _LANGUAGES.get(path.suffix, path.suffix.removeprefix("."))
    words = [it for it in (language or "text", path.name) if _PLAIN_NAME.fullmatch(it)]
    return "\n".join(
        [
            f"Review {json.dumps(item.path)}.{_changed(item)} {_ANSWER_FORMAT}",
            fence_text(text, " ".join(words)),
        ]
    )


def _changed(item: Item) -> str:
    if item.changed is None:
        return ""
    listed = ", ".join(f"{first}-{last}" for first, last in item.changed[:100])
    return f" Review only the changed lines: {listed}." if listed else ""


def submission_of(head: BatchHead, record: ItemRecord, opening: str) -> Submission:
    """Return the session of an item.

    Raises:
        InvalidInput: A panel that cannot be run.
    """
    panel = head.panel
    seats = _seats(panel, record.item.path)
    title = "".join(it if it.isprintable() else "?" for it in f"Review of {record.item.path}")
    collab = {
        "collab_id": item_session_id(head.batch_id, record.number, record.attempt),
        "title": title[:_TITLE_CHARACTERS],
        "purpose": panel.purpose,
        "mode": panel.mode,
        "meta": {"tags": [REVIEW_TAG]},
        "participants": [_participant(seat) for seat in seats],
    }
    return Submission.build(
        collab,
        agents={seat.name: _binding(seat) for seat in seats},
        stop=_stop(head, record),
        options=panel.options,
        policy=panel.policy,
        limits=panel.limits,
        protocol=panel.protocol,
        messages=[opening],
        parameters={REVIEW_PARAMETER: _parameter(head, record, opening)},
    )


def _seats(panel: Panel, path: str) -> list[Seat]:
    """Return the seats of an item's session: the tools for its path, then the panel's own.

    The orchestrator stays the first.
    """
    tools = [Seat(name=tool.agent, agent=tool.agent) for tool in panel.tools_for(path)]
    first = panel.seats[:1] if panel.mode is CollabMode.ORCHESTRATED else ()
    return [*first, *tools, *panel.seats[len(first) :]]


def _parameter(head: BatchHead, record: ItemRecord, opening: str) -> dict[str, JsonValue]:
    """Return what the session's agents are told about the item: its path, and the settings of its project."""
    path = record.item.path
    parameter: dict[str, JsonValue] = {"batch": head.batch_id, "item": record.number, "path": path}
    if head.settings.is_used:
        parameter["settings"] = head.settings.for_path(path, opening)
    if record.item.facts is not None:
        parameter["facts"] = record.item.facts.model_dump(mode="json")
    return parameter


def _participant(seat: Seat) -> dict[str, str]:
    return {"participant_id": seat.name} | ({"role_id": seat.role} if seat.role else {})


def _binding(seat: Seat) -> dict[str, object]:
    fields = {
        "agent": seat.agent,
        "instructions": seat.instructions,
        "temperature": seat.temperature,
        "max_tokens": seat.max_tokens,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _stop(head: BatchHead, record: ItemRecord) -> StopCondition | None:
    """Return the stop condition: that of the panel, and the item's share of the batch's budget."""
    conditions: list[StopCondition] = []
    if head.panel.stop is not None:
        conditions.append(read_stop(head.panel.stop))
    if record.tokens is not None:
        conditions.append(TokenBudget(record.tokens))
    if record.cost_micros is not None:
        conditions.append(CostBudget(record.cost_micros / 1e6))
    if not conditions:
        return None
    whole = conditions[0]
    for condition in conditions[1:]:
        whole |= condition
    return whole


def result_of(
    record: ItemRecord, state: SessionState, messages: Sequence[Message], events: Iterable[MapEvent]
) -> ItemResult:
    """Return the result of an item from its ended session.

    An item counts as failed if a reviewer could not answer; it has the findings of the other reviewers.
    """
    said = {
        (it.speaker, it.turn_number): parse_reviewer_answer(
            it.content, path=record.item.path, agent=it.speaker
        )
        for it in messages
        if it.speaker
    }
    error = _error(state, events)
    return ItemResult(
        item=record.item,
        state=ItemState.FAILED if error else ItemState.DONE,
        findings=_findings(said.values(), messages),
        session_id=state.session_id,
        usage=state.usage,
        error=error[:500],
        summary=_summary(list(said.values())),
    )


def _findings(said: Iterable[ReviewerAnswer], messages: Sequence[Message]) -> tuple[Finding, ...]:
    """Return all findings with their lines, each once per reviewer."""
    text = next((body for it in messages[:1] for _, body in fenced_blocks(it.content)), "")
    found = dict.fromkeys(finding for one in said for finding in one.findings)
    return with_ignores(with_snippets(found, text), text) if text else tuple(found)


def _summary(said: Sequence[ReviewerAnswer]) -> str:
    """Return the last message of the panel; the free text of a model is in the message of the judge."""
    return next((it.summary for it in reversed(said) if it.summary), "")


def _error(state: SessionState, events: Iterable[MapEvent]) -> str:
    if state.status is not CollabStatus.COMPLETED:
        return " ".join(filter(None, [state.reason, state.detail])) or str(state.status)
    ends = [GrantEnd.from_event(it) for it in events if it.event_type is MAPEventType.TURN_COMPLETED]
    silent = [it for it in ends if it.is_final and it.outcome in (GrantOutcome.SKIPPED, GrantOutcome.FAILED)]
    if silent:
        return "; ".join(f"{it.participant}: {it.error or it.outcome}" for it in silent)
    return f"ended early: {state.detail or state.reason}" if state.reason in _EARLY_END_REASONS else ""
