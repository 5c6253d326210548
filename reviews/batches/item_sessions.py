"""The session that reviews one item or a part of it, and its result. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set

from pydantic import JsonValue

from ...models.modes import mode_of
from ...models.protocol.collab import CollabStatus
from ...models.protocol.dialog import Message
from ...models.protocol.events import MapEvent, MAPEventType
from ...models.sessions.limits import TurnLimits
from ...models.sessions.stop_conditions import CostBudget, StopCondition, TokenBudget
from ...models.sessions.stop_syntax import read_stop
from ...models.sessions.submission import Submission
from ...models.text.ids import derived_id
from ...models.turns.turn import OUTPUTS_FIELD, REVIEW_PARAMETER
from ...state.sessions.records import SessionState
from ...tasks.sessions.task_tree import GrantEnd, GrantOutcome
from ..chunks.form import ShownFile, read_opening
from ..chunks.planner import leads, panel_of_part
from ..sources.archived_sessions import REVIEW_TAG
from ..state.records import BatchHead, ItemRecord
from ..values.answers import ReviewerAnswer, parse_reviewer_answer
from ..values.checks import (
    VERDICT_FORM,
    VERIFIER,
    CheckedFindings,
    Verdict,
    cap_severity,
    check_quotes,
    mark_unverified,
    parse_verdicts,
    unused_verdicts,
    verify_findings,
    with_ignores,
)
from ..values.findings import Finding, with_snippets
from ..values.panels import Panel, Seat
from ..values.runs import ItemResult, ItemState
from .needs import count_shares, is_read_by_models

#: Stop reasons of sessions that end before their panel has finished.
_EARLY_END_REASONS = frozenset({"token_budget", "cost_budget", "deadline", "no_answer", "exhausted"})
_TITLE_CHARACTERS = 200


def item_session_id(batch_id: str, number: int, attempt: int) -> str:
    """Return the id of the session that reviews an item.

    Always the same, so that the session is opened once.
    """
    return derived_id(f"{batch_id}|{number}|{attempt}")


def submission_of(head: BatchHead, record: ItemRecord, opening: str) -> Submission:
    """Return the session of an item. Raises InvalidInput: a panel that cannot be run."""
    panel = panel_of_part(head.panel.for_path(record.item.typed_path), head.readers, record.item.part)
    title = "".join(
        character if character.isprintable() else "?" for character in f"Review of {record.item.path}"
    )
    collab = {
        "collab_id": item_session_id(head.batch_id, record.number, record.attempt),
        "title": title[:_TITLE_CHARACTERS],
        "purpose": panel.purpose,
        "mode": panel.mode,
        "meta": {"tags": [REVIEW_TAG]},
        "participants": [
            {"participant_id": seat.name} | ({"role_id": seat.role} if seat.role else {})
            for seat in panel.seats
        ],
    }
    return Submission.build(
        collab,
        agents={
            seat.name: _binding(seat, batch=panel.batch_api and seat.name in head.readers)
            for seat in panel.seats
        },
        stop=_stop(head, record),
        options=panel.options,
        policy=panel.policy,
        limits=_turn_limits(head, record, panel),
        protocol=panel.protocol,
        messages=[opening, *_guide(head, record)],
        parameters={REVIEW_PARAMETER: _parameter(head, record, opening)},
    )


def _guide(head: BatchHead, record: ItemRecord) -> list[dict[str, str]]:
    """Return the message that says what counts as a finding; empty if no model takes part."""
    has_guide = head.guide and is_read_by_models(record.item, head.readers)
    return [{"role": "system", "content": head.guide}] if has_guide else []


def _parameter(head: BatchHead, record: ItemRecord, opening: str) -> dict[str, JsonValue]:
    """Return what the session's agents learn of the item: path, settings of its project, facts, part."""
    item = record.item
    parameter: dict[str, JsonValue] = {"batch": head.batch_id, "item": record.number, "path": item.typed_path}
    if head.settings.is_used:
        parameter["settings"] = head.settings.for_path(item.path, opening)
    if record.outputs:
        parameter[OUTPUTS_FIELD] = json.loads(record.outputs)
    if item.facts is not None:
        parameter["facts"] = item.facts.model_dump(mode="json")
    if head.panel.read_files:
        parameter["read_files"] = head.panel.read_files
    if item.part is not None:
        parameter["part"] = [item.part.number, item.part.count]
    return parameter


def _binding(seat: Seat, *, batch: bool) -> dict[str, object]:
    fields = {
        "agent": seat.agent,
        "instructions": seat_instructions(seat),
        "temperature": seat.temperature,
        "max_tokens": seat.max_tokens,
        "batch": batch or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def seat_instructions(seat: Seat) -> str | None:
    """Return the instructions of a seat; a verifier's contain the form of its answer."""
    if seat.role != VERIFIER:
        return seat.instructions
    return "\n\n".join(filter(None, [seat.instructions, VERDICT_FORM]))


def _turn_limits(head: BatchHead, record: ItemRecord, panel: Panel) -> TurnLimits:
    """Return the limits of a turn: with a cost limit, each turn of a model may cost an equal share of the item's."""
    shares = count_shares(panel, head.readers, None)
    if record.cost_micros is None or panel.limits.turn_usd is not None or not shares:
        return panel.limits
    share = max(record.cost_micros // shares, 1)
    return panel.limits.model_copy(update={"turn_usd": share / 1e6})


def _stop(head: BatchHead, record: ItemRecord) -> StopCondition | None:
    """Return the stop condition: that of the panel, and the item's share of the batch's budget."""
    conditions: list[StopCondition] = []
    if head.panel.session_stop is not None:
        conditions.append(read_stop(head.panel.session_stop))
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
    head: BatchHead,
    record: ItemRecord,
    state: SessionState,
    messages: Sequence[Message],
    events: Iterable[MapEvent],
) -> ItemResult:
    """Return the result of an item from its ended session.

    An item counts as failed if a reviewer could not answer, or a model answered in another form; it has the
    findings of the other reviewers.
    """
    seats = panel_of_part(head.panel.for_path(record.item.typed_path), head.readers, record.item.part).seats
    verifiers = {seat.name for seat in seats if seat.role == VERIFIER}
    paths = tuple(dict.fromkeys(item.path for item in record.item.members))
    answer_of_turn = {
        (message.speaker, message.turn_number): parse_reviewer_answer(
            message.content, path=paths[0], paths=paths, agent=message.speaker
        )
        for message in messages
        if message.speaker and message.speaker not in verifiers
    }
    answers = [(who or "", answer) for (who, _), answer in answer_of_turn.items()]
    files = read_opening(messages[0].content if messages else "", [item.path for item in record.item.members])
    verdicts = [
        verdict
        for message in messages
        if message.speaker in verifiers
        for verdict in parse_verdicts(message.content, agent=message.speaker or "", paths=paths)
    ]
    checked = _check_findings(head, files, answers, verdicts)
    findings, dropped = _select_findings(head, checked.findings)
    if verifiers:
        findings = tuple(map(mark_unverified, findings))
    is_complete = _has_all_answers(seats, verifiers | _leaders(head), answers)
    error = _error(state, events, is_complete=is_complete) or _form_error(head, answers)
    return ItemResult(
        item=record.item,
        state=ItemState.FAILED if error else ItemState.DONE,
        findings=findings,
        session_id=state.session_id,
        usage=state.usage,
        error=error[:500],
        summary=_summary(list(answer_of_turn.values())),
        dropped=checked.dropped + dropped + sum(answer.left_out for answer in answer_of_turn.values()),
    )


def _check_findings(
    head: BatchHead,
    files: Mapping[str, ShownFile],
    answers: Iterable[tuple[str, ReviewerAnswer]],
    verdicts: Sequence[Verdict],
) -> CheckedFindings:
    """Return the findings that the verifier keeps, with their lines, each once per reviewer.

    Those of models must quote a line. A verdict names the line that the reviewer named; if no reviewer named it,
    the line of the quote.
    """
    by_reviewer: dict[bool, dict[Finding, None]] = {True: {}, False: {}}
    for speaker, answer in answers:
        by_reviewer[speaker in head.readers].update(dict.fromkeys(answer.findings))
    others = unused_verdicts((*by_reviewer[True], *by_reviewer[False]), verdicts)
    of_models = verify_findings(by_reviewer[True], verdicts)
    of_programs = verify_findings(by_reviewer[False], verdicts)
    placed: list[Finding] = []
    dropped = of_models.dropped + of_programs.dropped
    for path, file in files.items():
        in_file = [finding for finding in of_programs.findings if finding.path == path]
        checked = check_quotes(
            [finding for finding in of_models.findings if finding.path == path], file.new, file.old
        )
        confirmed = with_snippets(in_file, file.text) if file.text else in_file
        rest = verify_findings((*confirmed, *checked.findings), others)
        dropped += checked.dropped + rest.dropped
        placed += with_ignores(rest.findings, file.text)
    return CheckedFindings(tuple(placed), dropped)


def _select_findings(head: BatchHead, findings: Sequence[Finding]) -> CheckedFindings:
    """Return the findings that are certain enough, and the number of the others."""
    kept = tuple(
        cap_severity(finding) if head.readers.keys() & set(finding.agents) else finding
        for finding in findings
        if finding.confidence >= head.panel.min_confidence
    )
    return CheckedFindings(kept, len(findings) - len(kept))


def _summary(answers: Sequence[ReviewerAnswer]) -> str:
    """Return the last message of the panel; the free text of a model is in the message of the judge."""
    return next((answer.summary for answer in reversed(answers) if answer.summary), "")


def _leaders(head: BatchHead) -> set[str]:
    """Return the names of the seats that lead a session, or judge what the others say."""
    seats = head.panel.seats
    navigators = seats[1:] if mode_of(head.panel.mode).has_navigator else ()
    return {seat.name for seat in (*navigators, *filter(leads, seats))}


def _has_all_answers(
    seats: Sequence[Seat], others: Set[str], answers: Iterable[tuple[str, ReviewerAnswer]]
) -> bool:
    """Return whether each reviewer has answered; `others`: seats that are none."""
    return {seat.name for seat in seats} - others <= {speaker for speaker, _ in answers}


def _form_error(head: BatchHead, answers: Iterable[tuple[str, ReviewerAnswer]]) -> str:
    """Return which models answered without a list of findings; empty: none. Leading models report none."""
    leading = _leaders(head)
    has_list: dict[str, bool] = {}
    for speaker, answer in answers:
        if speaker in head.readers and speaker not in leading:
            has_list[speaker] = has_list.get(speaker, False) or answer.has_findings_list
    return "; ".join(
        f"{name}: no list of findings in the answer" for name, has in has_list.items() if not has
    )


def _error(state: SessionState, events: Iterable[MapEvent], *, is_complete: bool) -> str:
    """Return why the review of an item failed; empty: it did not.

    A session that ends early has not failed if it `is_complete`: each reviewer has answered, and was paid.
    """
    if state.status is not CollabStatus.COMPLETED and not is_complete:
        return " ".join(filter(None, [state.reason, state.detail])) or str(state.status)
    ends = [GrantEnd.from_event(event) for event in events if event.event_type is MAPEventType.TURN_COMPLETED]
    silent = [
        end for end in ends if end.is_final and end.outcome in (GrantOutcome.SKIPPED, GrantOutcome.FAILED)
    ]
    if silent:
        return "; ".join(f"{end.participant}: {end.error or end.outcome}" for end in silent)
    is_early = state.reason in _EARLY_END_REASONS and not is_complete
    return f"ended early: {state.detail or state.reason}" if is_early else ""


#: Errors of requests to models, as `agents.llm.errors` writes them.
_PROVIDER_ERROR = re.compile(r"\w+: (?:HTTP \d{3} from|request to) model '[^']*'")


def provider_error(error: str) -> str:
    """Return the kind, status and model of a provider's error in the error of an item; empty: there is none."""
    match = _PROVIDER_ERROR.search(error)
    return match[0] if match else ""
