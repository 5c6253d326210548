"""What an agent gets for its turn: the context, and the results of work items that the turn builds on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ...alignment.turn_format import add_format_instruction
from ...models.modes import mode_of
from ...models.modes.positions import opening_of
from ...models.protocol.dialog import Message
from ...models.sessions.plan import BoardEntry, PlannedTurn, Totals
from ...models.text.json_text import dump_json
from ...models.text.redact import excerpt
from ...models.turns.decision_ledger import DecisionLedger
from ...models.turns.items import ItemResult
from ...models.turns.tool_uses import own_tool_uses
from ...models.turns.turn import (
    REVIEW_PARAMETER,
    Expects,
    RemainingBudget,
    TurnContext,
)
from ...state.redis.readers import (
    StreamReader,
    converting_to_corrupt,
    read_object,
    read_stored,
)
from ...state.sessions.records import Grant, SessionState
from ...state.sessions.store import SessionStore
from .position import turn_position
from .session_views import (
    SessionFacts,
    T,
    _totals,
    initial_view,
)


def _ledger(
    facts: SessionFacts, state: SessionState, planned: PlannedTurn, totals: Totals, left: RemainingBudget
) -> DecisionLedger | None:
    """Return the ledger for the turn of an orchestrator; None: another turn."""
    ledger_of_turn = mode_of(facts.collab.mode).ledger
    if ledger_of_turn is None or planned.expects is not Expects.DECISION:
        return None
    view = initial_view(
        facts,
        state=read_object(state.planner, session_id=state.session_id, part="planner"),
        totals=totals,
    )
    with converting_to_corrupt(state.session_id, "planner"):
        return ledger_of_turn(view).model_copy(update={"rounds_left": left.rounds})


def _own_budget(state: SessionState, grant: Grant, left: RemainingBudget) -> RemainingBudget:
    """Return the budget of this turn of what is left: in each limited unit, at most its reservation."""
    record = state.records[grant.number]
    own: dict[str, int] = {}
    if left.tokens is not None:
        own["tokens"] = record.reserved.tokens
    if left.cost_micros is not None:
        own["cost_micros"] = record.reserved.cost
    return left.model_copy(update=own) if own else left


#: Number of messages that a turn of a review gets: all, so that the opening is among them.
_REVIEW_WINDOW = 1_000


def granted_window(facts: SessionFacts, window: int) -> int:
    """Return the number of messages that a turn must read, so that its agent can be shown `window` messages."""
    return max(window, _REVIEW_WINDOW) if window and REVIEW_PARAMETER in facts.spec.parameters else window


def newest_messages(messages: Sequence[T], window: int, *, is_first_pinned: bool) -> Sequence[T]:
    """Return the newest messages; a pinned first one takes the place of the oldest of them."""
    if not window:
        return ()
    if not is_first_pinned or len(messages) <= window:
        return messages[-window:]
    return [messages[0], *messages[len(messages) - window + 1 :]]


def turn_context(
    facts: SessionFacts,
    state: SessionState,
    grant: Grant,
    planned: PlannedTurn,
    granted: Sequence[Message],
    *,
    window: int,
    timeout_s: float,
    earlier: Sequence[Message] = (),
) -> TurnContext:
    """Return the context of one turn for its agent, with the newest `window` of the `granted` messages.

    `earlier`: messages of the session's history, which come before them. The opening is left out if it is not among them.
    """
    dialog = newest_messages(granted, window, is_first_pinned=REVIEW_PARAMETER in facts.spec.parameters)
    binding, mode = facts.spec.agents[planned.participant], mode_of(facts.collab.mode)
    totals = _totals(
        state, closed=state.closed, skipped=state.skipped, rounds=state.rounds, usage=state.usage
    )
    left = facts.spec.stop.remaining(totals)
    has_room = len(granted) < window or len(granted) == state.messages
    is_whole = has_room and len(dialog) == len(granted)
    messages = own_tool_uses((*earlier, *dialog), planned.participant)
    return TurnContext(
        session_id=facts.session_id,
        opened_ms=state.opened_ms,
        mode=facts.collab.mode,
        one_turn_each=mode.one_turn_each,
        title=facts.collab.title,
        purpose=facts.collab.purpose,
        me=facts.roster[planned.participant],
        roster=facts.participants,
        approvers=facts.spec.approvers,
        observers=facts.spec.observers,
        turn_number=grant.number,
        attempt=grant.grants,
        expects=planned.expects,
        instruction=planned.instruction
        if planned.output
        else add_format_instruction(facts.spec.protocol, planned.instruction),
        scoring=facts.spec.protocol is not None,
        output_schema=facts.spec.output.json_schema if planned.output and facts.spec.output else None,
        messages=messages,
        opening=opening_of(dialog) if is_whole else (),
        position=turn_position(facts, state, planned, grant.number, left, messages, is_whole=is_whole),
        descriptions=facts.descriptions,
        ledger=_ledger(facts, state, planned, totals, left),
        item=planned.item,
        parameters={**facts.spec.parameters, **binding.parameters},
        remaining=_own_budget(state, grant, left),
        timeout_s=timeout_s,
    )


#: Maximum characters of each part of a query of the long-term memory, so that each part counts.
_MAX_QUERY_PART = 800


def recall_query(context: TurnContext) -> str:
    """Return the query for the long-term memory: purpose, newest message, instruction and work item."""
    newest = context.messages[-1].content if context.messages else ""
    item = context.item.text if context.item else ""
    parts = (context.purpose, newest, context.instruction, item)
    return "\n".join(part[:_MAX_QUERY_PART] for part in parts if part)


#: Maximum characters of all results of a turn together, of one result, and of one result among very many.
MAX_TOTAL = 100_000
MAX_RESULT = 8_000
MIN_RESULT = 100


def item_results(
    store: SessionStore,
    session_id: str,
    planned: PlannedTurn,
    *,
    earlier: Callable[[], Iterable[Message]] = tuple,
) -> tuple[ItemResult, ...]:
    """Return the results that a turn builds on; a turn that builds on none costs no request.

    Args:
        store: The sessions.
        session_id: Id of the session.
        planned: The turn.
        earlier: Reads the messages before those of the session; called if a turn is not in its dialog, as in a fork.
    """
    entries: dict[str, tuple[BoardEntry, str | None]]
    if planned.reduces:
        entries = {
            name: (_read_entry(session_id, text), None) for name, text in store.board(session_id).items()
        }
    elif planned.item is not None and planned.item.after:
        names = planned.item.after
        rows = zip(names, store.items(session_id, names), strict=True)
        entries = {name: (_read_entry(session_id, text), entry_id) for name, (text, entry_id) in rows if text}
    else:
        return ()
    board = sorted((entry for entry, _ in entries.values()), key=lambda entry: entry.order)
    places = {
        entry.turn_number: entry_id for entry, entry_id in entries.values() if entry.turn_number and entry_id
    }
    turns = _turns_of(board)
    messages = _read_messages(StreamReader(store.client), session_id, turns, places)
    if not turns.issubset(messages):
        messages = _earlier_messages(board, earlier()) | messages
    return cut_results(board, messages)


def cut_results(board: Sequence[BoardEntry], messages: Mapping[int, Message]) -> tuple[ItemResult, ...]:
    """Return the results of items with the last messages of their turns, cut to a bounded size. Pure."""
    share = max(MIN_RESULT, min(MAX_RESULT, MAX_TOTAL // max(len(board), 1)))
    return tuple(_cut(entry, messages.get(entry.turn_number or 0), share) for entry in board)


def _cut(entry: BoardEntry, message: Message | None, share: int) -> ItemResult:
    text = "" if message is None else message.content
    output = None if message is None else message.output
    fits = output is None or len(dump_json(output)) <= share
    return ItemResult(
        item_id=entry.item.item_id,
        item=excerpt(entry.item.text),
        status=entry.status,
        participant=entry.participant,
        turn_number=entry.turn_number,
        text=text[:share],
        output=output if fits else None,
        is_cut=len(text) > share or not fits,
        reason=entry.reason,
    )


def last_messages(messages: Iterable[Message]) -> dict[int, Message]:
    """Return the last message of each turn, from messages in the order of the dialog."""
    return {message.turn_number: message for message in messages if message.turn_number is not None}


def _turns_of(board: Iterable[BoardEntry]) -> set[int]:
    return {entry.turn_number for entry in board if entry.status == "done" and entry.turn_number}


def _read_messages(
    streams: StreamReader, session_id: str, turns: set[int], places: Mapping[int, str]
) -> dict[int, Message]:
    """Return the last message of each turn, by its place; those without a place are looked for."""
    texts = streams.at(session_id, "dialog", list(places.values()))
    messages = last_messages(_read_message(session_id, text) for text in texts if text is not None)
    messages = {turn: message for turn, message in messages.items() if turn in turns}
    return messages | dict(_search(streams, session_id, turns - messages.keys()))


def _earlier_messages(board: Iterable[BoardEntry], earlier: Iterable[Message]) -> dict[int, Message]:
    """Return the messages with the turns and speakers of closed items, from messages of an earlier session."""
    speakers = {entry.turn_number: entry.participant for entry in board if entry.status == "done"}
    messages: dict[int, Message] = {}
    for message in earlier:
        turn, speaker = message.history.get("turn_number"), message.history.get("participant_id")
        if isinstance(turn, int) and turn in speakers and speakers[turn] == speaker:
            messages[turn] = message
    return messages


def _search(streams: StreamReader, session_id: str, turns: set[int]) -> Iterator[tuple[int, Message]]:
    """Yield the last message of each turn, newest first, from the whole dialog if need be."""
    if not turns:
        return
    for _, text in streams.newest_first(session_id, "dialog", page=200):
        message = _read_message(session_id, text)
        if message.turn_number in turns:
            turns = turns - {message.turn_number}
            yield message.turn_number, message
        if not turns:
            return


def _read_entry(session_id: str, text: str | None) -> BoardEntry:
    return read_stored(BoardEntry, text or "{}", session_id=session_id, part="board")


def _read_message(session_id: str, text: str) -> Message:
    return read_stored(Message, text, session_id=session_id, part="dialog")
