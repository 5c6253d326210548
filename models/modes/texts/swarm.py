"""Texts of a swarm: for its workers and its reducer."""

from __future__ import annotations

from ...memory.parameters import to_compact_json
from ...text.tags import clean_line, escape_tags, write_tag
from ...turns.items import ItemResult
from ...turns.turn import TurnContext
from .common import STANDS, ModeTexts, any_question, indented, instruction_of, lines, name, shown_turns, turns

_FORM = (
    "When <turn> gives you an item, do that item and nothing else; write its result, complete in itself, since others "
    "will build on your text alone. If the item turns out to need separate work, add a line ITEM: what is to be done (ITEM name: for "
    "one of them), only for work that the task needs and that is not on the board. If another is clearly better "
    "placed, write only the line HAND OFF: name, and why on the next line. If it cannot be done, answer PASS: and why "
    "in one sentence."
)
_ONE = "Make the one result that <task> asks for, readable without them."
#: Maximum characters of the title of an item.
_MAX_TITLE = 80


def _rules(turn: TurnContext, /) -> str:
    reducer = turn.position.reducer
    last = f" When no item is left, {name(reducer)} makes one result of all." if reducer else ""
    return (
        "The work lies on a board as items. Each participant takes one item at a time and works on it alone; "
        f"what is finished can be read by all.{last}"
    )


def _form(turn: TurnContext, /, *, structured: bool) -> str:  # noqa: ARG001 - as in `FormText`
    return _FORM


def _request(turn: TurnContext, /, *, structured: bool) -> str:  # noqa: ARG001 - as in `FormText`
    if turn.item is None:
        return lines(instruction_of(turn)) if turn.position.instruction else _reduce(turn)
    position, item = turn.position, turn.item
    results = [_result_line(result, turn) for result in turn.item_results]
    data = f"Data: {escape_tags(to_compact_json(item.data))}" if item.data is not None else ""
    others = "; ".join(clean_line(text, _MAX_TITLE).rstrip(".") for text in position.open_items)
    times = "once" if item.hand_offs == 1 else f"{item.hand_offs} times"
    return lines(
        "It builds on:" if results else "",
        *results,
        f"Your item {name(item.item_id)}: {indented(escape_tags(item.text.strip()))}",
        data,
        f"Other items on the board: {others}" if others else "",
        f"It was handed off {times} and now stays with you." if position.item_stays else "",
    )


def _result_line(result: ItemResult, turn: TurnContext) -> str:
    state = "done" if result.status == "done" else "failed"
    by = f" by {name(result.participant)}" if result.participant else ""
    head = f"- {name(result.item_id)}{by}, {state}"
    if result.status == "done" and result.turn_number in shown_turns(turn):
        return f"{head}: in turn {result.turn_number}"
    if not result.text and result.output is None:
        return f"{head}: {escape_tags(' '.join((result.reason or 'no message').split()))}"
    parts = [result.text or result.reason or "no message"]
    if result.output is not None and to_compact_json(result.output) != result.text:
        parts.append(f"(data: {to_compact_json(result.output)})")
    text = f"{escape_tags(' '.join(parts))}{' ...' if result.is_cut else ''}"
    return f"{head}:\n{write_tag('message', text, {'from': result.participant or ''})}"


def _reduce(turn: TurnContext) -> str:
    results, shown = turn.item_results, shown_turns(turn)
    failed = [result for result in results if result.status != "done"]
    seen = sorted(
        {r.turn_number for r in results if r.status == "done" and r.turn_number in shown and r.turn_number}
    )
    told = [r for r in results if r.status == "done" and r.turn_number not in seen]
    ids = ", ".join(
        f"{name(r.item_id)}{f': {clean_line(r.reason, _MAX_TITLE)}' if r.reason else ''}" for r in failed
    )
    counts = f"{len(results) - len(failed)} done" + (f", {len(failed)} failed ({ids})" if failed else "")
    where = f" The results are in {turns(seen)}." if seen and not told else ""
    if seen and told:
        where = f" Results are in {turns(seen)}, and here:"
    elif told:
        where = " The results:"
    return lines(
        f"No item is left: {counts}.{where}",
        *(_result_line(result, turn) for result in told),
        _ONE + (" Say what is missing because of the failed items." if failed else "") + f" {STANDS}",
    )


def _question(turn: TurnContext, /) -> str:
    if turn.item is None:
        if turn.position.instruction:
            return any_question(turn)
        results = [_plain_result(r) for r in turn.item_results if r.turn_number not in shown_turns(turn)]
        failed = any(result.status != "done" for result in turn.item_results)
        return lines(
            "Results of the items:" if results else "",
            *results,
            "Make one result of these results."
            + (" Say what is missing because of what failed." if failed else ""),
        )
    results = [_plain_result(r) for r in turn.item_results if r.turn_number not in shown_turns(turn)]
    data = f"\nData: {to_compact_json(turn.item.data)}" if turn.item.data is not None else ""
    return lines(
        "Results of the items before:" if results else "",
        *results,
        f"Do this and nothing else: {indented(turn.item.text.strip())}{data}",
    )


def _plain_result(result: ItemResult) -> str:
    text = result.text or result.reason or "no message"
    return f"  {name(result.item_id)}{'' if result.status == 'done' else ' failed'}: {' '.join(text.split())}"


TEXTS = ModeTexts(rules=_rules, form=_form, request=_request, question=_question)
