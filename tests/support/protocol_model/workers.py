"""What workers may do: the order of calls of `tasks/run_turn.py` and `tasks/planning/advance.py`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

from .answers import after_answer, plan_next
from .calls import call_of
from .scenario import Scenario
from .server import Outcome
from .world import ADVANCE, IDLE, Message, Step, Worker, World

_NAMES = {
    "begin": "begins turn {number} under token {token}",
    "commit": "commits turn {number} under token {token}",
    "fail": "reports a failed attempt of turn {number} under token {token}",
    "park": "parks turn {number} under token {token}, with reply token {reply}",
    "plan": "writes its plan of step {step}, made for version {version}",
    "book": "books the spending of token {token}, whose lease it has lost",
    "book again": "repeats the booking of the spending of token {token}",
    "remind": "records a reminder for turn {number}",
    "reassign": "asks another person in turn {number}, with the new reply token {token}",
    "default": "ends the wait of turn {number} at its deadline",
}


def worker_steps(scenario: Scenario, world: World) -> Iterator[Step]:
    """Yield the steps of all workers. Of workers in the same state, one is enough."""
    for index, worker in enumerate(world.workers):
        if worker in world.workers[:index]:
            continue
        if worker.doing == "idle":
            yield from _deliveries(scenario, world, index)
            continue
        if worker.doing == "speak":
            yield from _speaking(scenario, world, index, worker)
        else:
            yield from _sending(scenario, world, index, worker)
        if world.budget.allows("crashes"):
            dead = world.less("crashes").with_worker(index, IDLE)
            yield Step(f"a worker dies ({_describe(worker)})", dead, None, _unchanged, is_fair=False)


def _unchanged(world: World, _: Outcome | None) -> World:
    return world


def _describe(worker: Worker) -> str:
    return f"in turn {worker.number}, token {worker.token}" if worker.token else f"before it {worker.doing}s"


def _deliveries(scenario: Scenario, world: World, index: int) -> Iterator[Step]:
    for message in sorted(world.queue):
        yield from _deliver(scenario, world._replace(queue=world.queue - {message}), index, message)
        if world.budget.allows("copies"):
            for step in _deliver(scenario, world.less("copies"), index, message):
                yield step._replace(
                    text=f"{step.text}; a copy of the message stays in the queue", is_fair=False
                )


def _deliver(scenario: Scenario, world: World, index: int, message: Message) -> Iterator[Step]:
    if message == ADVANCE:

        def look(now: World, _: Outcome | None) -> World:
            return plan_next(scenario, now, index)

        yield Step("a worker takes the message to plan, and reads the session", world, None, look)
    else:
        worker = Worker("begin", message.number, message.scope, world.new_name("~"))
        yield from _sending(scenario, world, index, worker)


def _speaking(scenario: Scenario, world: World, index: int, worker: Worker) -> Iterator[Step]:
    yield from _sending(scenario, world, index, worker._replace(doing="commit"), is_report=True)
    text = f"a worker renews the lease of turn {worker.number} under token {worker.token}"
    renewal = call_of(scenario, worker._replace(doing="renew"))
    yield Step(text, world, renewal, partial(_after_renewal, index, worker))
    kinds = {"failures": worker._replace(doing="fail", plan=None)}
    kinds["questions"] = worker._replace(doing="park", plan=None, reply=world.new_name("?"))
    for kind, ended in kinds.items():
        if world.budget.allows(kind):
            for step in _sending(scenario, world.less(kind), index, ended, is_report=True):
                yield step._replace(is_fair=False)


def _after_renewal(index: int, worker: Worker, world: World, outcome: Outcome | None) -> World:
    if outcome and outcome.word == "renewed":
        return world
    return world.with_worker(index, worker._replace(doing="book", plan=None))


@cache
def _text_of_call(worker: Worker) -> str:
    plan = worker.plan
    details = {**worker._asdict(), "step": plan and plan.step + 1, "version": plan and plan.expected}
    return f"a worker {_NAMES[worker.doing].format(**details)}"


def _sending(
    scenario: Scenario, world: World, index: int, worker: Worker, *, is_report: bool = False
) -> Iterator[Step]:
    """Yield the call that a worker has decided to make: its answer arrives, or it is lost and the call is repeated."""
    text = _text_of_call(worker)
    call = call_of(scenario, worker)
    is_report = is_report or worker.doing == "book"

    def answered(now: World, outcome: Outcome | None) -> World:
        assert outcome is not None
        return after_answer(scenario, now, index, worker, outcome)

    yield Step(text, world, call, answered, is_report=is_report)
    if world.budget.allows("lost_answers"):
        again = worker._replace(doing="book again") if worker.doing == "book" else worker
        waiting = world.less("lost_answers").with_worker(index, again)
        lost = f"{text}; the answer is lost"
        yield Step(lost, waiting, call, _unchanged, is_fair=False, is_report=is_report)
