"""What a worker does with an answer: its next state, and the messages that it sends."""

from __future__ import annotations

from collections.abc import Callable

from .scenario import Scenario, make_plan
from .server import Outcome
from .store import NOW_MS
from .world import ADVANCE, IDLE, Worker, World


def after_answer(scenario: Scenario, world: World, index: int, worker: Worker, outcome: Outcome) -> World:
    """Return the world after a worker has got the answer of its call."""
    return _AFTER[worker.doing](scenario, world, index, worker, outcome)


def plan_next(scenario: Scenario, world: World, index: int, *, exhausted: bool = False) -> World:
    """Return the world after a worker has made a plan for the store that it has read."""
    plan = make_plan(scenario, world.store, world.new_name("plan-"), exhausted=exhausted)
    return world.with_worker(index, Worker("plan", plan=plan) if plan else IDLE)


def is_applied(world: World, worker: Worker) -> bool:
    """Return whether the worker's plan is the newest one that was written."""
    return worker.plan is not None and world.store.session.get("planned_by") == worker.plan.plan_id


def send_after_reply(world: World, number: int, outcome: Outcome) -> World:
    """Return the world with the message that the caller of a reply sends."""
    if outcome.word == "replied":
        return world._replace(queue=world.queue | {ADVANCE})
    return world.with_messages([number]) if outcome.word == "returned" else world


def _dispatch(world: World, index: int, outcome: Outcome) -> World:
    numbers = outcome.extra
    if outcome.word not in ("committed", "planned"):  # an earlier call applied it, and its answer was lost
        numbers = [n for n, turn in world.store.turns.items() if turn["status"] == "planned"]
    return world.with_messages(numbers or ()).with_worker(index, IDLE)


def _after_begin(scenario: Scenario, world: World, index: int, worker: Worker, outcome: Outcome) -> World:
    if outcome.word == "granted":
        return _speak(scenario, world, index, worker)
    if outcome.word in ("done", "overdue", "exhausted"):
        return plan_next(scenario, world, index, exhausted=outcome.word == "exhausted")
    if outcome.word == "woken":
        turn = world.store.turns[worker.number]
        woken = worker._replace(doing="remind", token="", reply=turn["reply"])
        if turn["until_ms"] <= NOW_MS:
            woken = woken._replace(doing="default", token=world.new_name("!"))
            if world.budget.allows("reassignments"):
                woken = woken._replace(doing="reassign", token=world.new_name("?"))
        return world.with_worker(index, woken)
    return world.with_worker(index, IDLE)


def _speak(scenario: Scenario, world: World, index: int, worker: Worker) -> World:
    """Return the world in which a worker runs the turn that it was granted."""
    plan, claim = None, ""
    if scenario.first_wins or world.store.open_turns == [worker.number]:
        plan = make_plan(scenario, world.store, world.new_name("plan-"), after=worker.number)
    if scenario.claims and plan and len((*scenario.steps, ())[plan.step]) == 1:
        claim = world.new_name("~")
    return world.with_worker(index, worker._replace(doing="speak", plan=plan, claim=claim))


def _after_commit(scenario: Scenario, world: World, index: int, worker: Worker, outcome: Outcome) -> World:
    if outcome.word not in ("committed", "done"):
        return world.with_worker(index, IDLE)
    turns = world.store.turns.items()
    claimed = [n for n, turn in turns if turn["status"] == "speaking" and turn["token"] == worker.claim]
    if not claimed:
        return _after_plan(scenario, world, index, worker, outcome)
    turn = Worker("begin", claimed[0], world.store.turns[claimed[0]]["scope"], worker.claim)
    # The first answer of a repeated commit was lost, so the worker asks for the grant again.
    return _speak(scenario, world, index, turn) if outcome.has_grant else world.with_worker(index, turn)


def _after_plan(scenario: Scenario, world: World, index: int, worker: Worker, outcome: Outcome) -> World:
    if is_applied(world, worker):
        return _dispatch(world, index, outcome)
    return plan_next(scenario, world, index)


def _after_deadline(scenario: Scenario, world: World, index: int, worker: Worker, outcome: Outcome) -> World:
    return send_after_reply(world, worker.number, outcome).with_worker(index, IDLE)


def _after_reassignment(
    scenario: Scenario, world: World, index: int, worker: Worker, outcome: Outcome
) -> World:
    world = world.less("reassignments") if world.budget.allows("reassignments") else world
    return world.with_worker(index, IDLE)


def _become_idle(scenario: Scenario, world: World, index: int, worker: Worker, outcome: Outcome) -> World:
    return world.with_worker(index, IDLE)


_AFTER: dict[str, Callable[[Scenario, World, int, Worker, Outcome], World]] = {
    "begin": _after_begin,
    "commit": _after_commit,
    "plan": _after_plan,
    "default": _after_deadline,
    "reassign": _after_reassignment,
    **dict.fromkeys(("fail", "park", "book", "book again", "remind"), _become_idle),
}
