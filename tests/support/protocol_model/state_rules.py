"""What must be true of every state, from the raw keys and the events: each rule yields what is violated."""

from __future__ import annotations

from collections.abc import Iterator

from .scenario import Scenario
from .store import POSTED
from .world import World


def broken_in_state(scenario: Scenario, world: World) -> list[str]:
    """Return the rules that a state violates."""
    rules = (*_RULES, *_RULES_AT_END) if world.store.is_final else _RULES
    return [text for rule in rules for text in rule(scenario, world)]


def _turns_are_written_once_in_order(scenario: Scenario, world: World) -> Iterator[str]:
    written = world.store.written
    if len(set(written)) < len(written):
        yield f"a turn is written twice: {world.store.dialog}"
    steps = [_step_of(scenario, number) for number in written]
    if steps != sorted(steps):
        yield f"turns are written in the order {written}"


def _step_of(scenario: Scenario, number: int) -> int:
    last = 0
    for index, step in enumerate(scenario.steps):
        last += len(step)
        if number <= last:
            return index
    return len(scenario.steps)


def _steps_are_planned_once(scenario: Scenario, world: World) -> Iterator[str]:
    planned = world.store.count("next") - 1
    if planned > sum(len(step) for step in scenario.steps):
        yield f"{planned} turns were planned: a step was planned twice"


def _drafts_have_no_turns(scenario: Scenario, world: World) -> Iterator[str]:
    if world.store.status == "draft" and world.store.turns:
        yield f"a draft has the turns {sorted(world.store.turns)}"


def _counters_are_sums(scenario: Scenario, world: World) -> Iterator[str]:
    store = world.store
    if (store.count("closed"), store.count("messages")) != (len(store.written), len(store.dialog)):
        yield "the counters of turns and messages differ from the dialog"
    if store.input_tokens != world.spent:
        yield f"attempts have reported {world.spent} tokens, booked are {store.input_tokens}"


def _reservations_are_sums(scenario: Scenario, world: World) -> Iterator[str]:
    store = world.store
    reserved = store.reserved
    if store.count("reserved_tokens") != reserved:
        yield f"{store.count('reserved_tokens')} tokens are reserved, the turns hold {reserved}"
    for number, turn in store.turns.items():
        if turn["status"] != "speaking" and turn.get("reserved_tokens"):
            yield f"turn {number} reserves tokens, but no attempt is running"
    is_frozen = world.budget.expiries < scenario.budget.expiries  # a late attempt spends beside its successor
    if scenario.limit and not is_frozen and store.input_tokens + reserved > scenario.limit:
        yield "spent and reserved tokens exceed the limit"


def _grants_are_those_of_open_turns(scenario: Scenario, world: World) -> Iterator[str]:
    open_grants = world.store.granted
    if world.grants != open_grants:
        yield f"grants without completion: {sorted(world.grants)}; the open turns have {sorted(open_grants)}"


def _questions_are_answered_once(scenario: Scenario, world: World) -> Iterator[str]:
    replies = [reply for reply, _ in world.answered]
    if len(set(replies)) < len(replies):
        yield f"a question was answered twice: {sorted(world.answered)}"


def _posts_are_kept_once(scenario: Scenario, world: World) -> Iterator[str]:
    store = world.store
    posts = sorted([it for it in store.dialog if it.startswith(POSTED)] + store.waiting_posts)
    accepted = sorted({POSTED + it for it in store.session.get("posted_by", "").split()})
    if posts != accepted:
        yield f"the posts {accepted} were accepted, but the session has {posts}"


def _changes_are_made_once(scenario: Scenario, world: World) -> Iterator[str]:
    if world.store.count("edition") > scenario.operator[: world.operated + 1].count("steer"):
        yield f"the settings have edition {world.store.count('edition')}: a change was made twice"


def _end_leaves_nothing_open(scenario: Scenario, world: World) -> Iterator[str]:
    store = world.store
    if world.grants or store.open_turns:
        yield f"the session has ended with open turns {store.open_turns} and grants {sorted(world.grants)}"
    if store.waiting_posts:
        yield f"the session has ended with the waiting posts {store.waiting_posts}"
    if store.count("reserved_tokens"):
        yield f"the session has ended with {store.count('reserved_tokens')} reserved tokens"
    if world.reported != store.input_tokens:
        yield f"the events report {world.reported} tokens, booked are {store.input_tokens}"


def _completed_sessions_have_all_turns(scenario: Scenario, world: World) -> Iterator[str]:
    if world.store.status != "completed" or scenario.may_lack_turns:
        return
    written, planned = sorted(world.store.written), sum(len(step) for step in scenario.steps)
    if written != list(range(1, planned + 1)):
        yield f"turns are lost: written are {written} of {planned}"


_RULES = (
    _turns_are_written_once_in_order,
    _steps_are_planned_once,
    _drafts_have_no_turns,
    _counters_are_sums,
    _reservations_are_sums,
    _grants_are_those_of_open_turns,
    _questions_are_answered_once,
    _posts_are_kept_once,
    _changes_are_made_once,
)
_RULES_AT_END = (_end_leaves_nothing_open, _completed_sessions_have_all_turns)
