"""What happens around the workers: sweeps, people, the operator, and what breaks without them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from .answers import send_after_reply
from .calls import await_agent_call, operator_call, reply_args
from .scenario import Scenario
from .server import Call, Outcome, make_call
from .world import ADVANCE, Step, World

#: Scopes of a cancel whose caller has its answer.
_DONE = ("",)


def surrounding_steps(scenario: Scenario, world: World) -> Iterator[Step]:
    """Yield all steps that are not a worker's."""
    if not world.store.is_final:
        yield _sweep(world)
    yield from _expiries(world)
    yield from _releases(world)
    if world.queue:
        yield Step(
            "all messages are lost", world._replace(queue=frozenset()), None, _unchanged, is_fair=False
        )
    yield from _strangers(world)
    for index in range(len(world.people)):
        yield from _person(scenario, world, index)
    yield from _operator(scenario, world)
    if scenario.is_cancelled:
        yield from _cancel(world)


def _unchanged(world: World, _: Outcome | None) -> World:
    return world


@cache
def _sweep_call(scopes: tuple[str, ...]) -> Call:
    args = {"grace_ms": 1_000, "taken_ms": "", "probes": 0}
    return Call("sessions/sweep", tuple(args.items()), scopes=scopes, rest=scopes, is_later=True)


@cache
def _release_call(number: int, scope: str, token: str) -> Call:
    args = {"number": number, "token": token, "process": "worker/1"}
    return make_call("turns/release_lost", args, scope)


def _sweep(world: World) -> Step:
    call = _sweep_call(world.store.open_scopes)

    def send(now: World, outcome: Outcome | None) -> World:
        assert outcome is not None
        if outcome.word != "swept":
            return now
        _, numbers, advance, _, _ = outcome.extra
        now = now.with_messages(numbers)
        return now._replace(queue=now.queue | {ADVANCE}) if advance else now

    return Step("a long time passes, and a sweep sends what is due", world, call, send)


def _expiries(world: World) -> Iterator[Step]:
    """Yield the expiry of each lease: of a dead worker at some time, of a frozen one within the budget."""
    alive = {token for worker in world.workers for token in (worker.token, worker.claim)}
    for scope, token in world.store.locks.items():
        expired = world._replace(store=world.store.without_lock(scope))
        if token not in alive:
            yield Step(f"the lease of token {token} expires; its worker is dead", expired, None, _unchanged)
        elif world.budget.allows("expiries"):
            text = f"the lease of token {token} expires; its worker is frozen"
            yield Step(text, expired.less("expiries"), None, _unchanged, is_fair=False)


def _releases(world: World) -> Iterator[Step]:
    """Yield that a worker ends the lease of a worker that it takes for lost, which it has read at some time before."""
    alive = {token for worker in world.workers for token in (worker.token, worker.claim)}
    for number, scope, token in world.store.tokens:
        call = _release_call(number, scope, token)
        text = f"a worker ends the lease of token {token}, whose worker counts as lost"
        if token not in alive or world.store.locks.get(scope) != token:
            yield Step(text, world, call, _unchanged, is_fair=False)
        elif world.budget.allows("expiries"):
            yield Step(f"{text}, but runs", world.less("expiries"), call, _unchanged, is_fair=False)


def _strangers(world: World) -> Iterator[Step]:
    """Yield that a worker without the agent takes a message, and that one with the agent appears."""
    if world.budget.allows("strangers"):
        for message in sorted(world.queue - {ADVANCE}):
            taken = world.less("strangers")._replace(queue=world.queue - {message})
            text = f"a worker that does not know the agent of turn {message.number} takes its message"
            call = await_agent_call(message.number, "ada", message.scope)
            yield from _with_lost_answer(Step(text, taken, call, _unchanged, is_fair=False))
    for number, turn in world.store.turns.items():
        if "lacks" in turn:
            call = await_agent_call(number, "", turn["scope"])
            text = f"a worker with the agent of turn {number} appears"
            yield from _with_lost_answer(Step(text, world, call, _unchanged, is_fair=False))


def _person(scenario: Scenario, world: World, index: int) -> Iterator[Step]:
    """Yield that a person reads a question, and later answers it, once."""
    knows, name = world.people[index], f"person {index + 1}"

    def with_person(now: World, state: tuple[int, str] | tuple[()]) -> World:
        return now._replace(people=(*now.people[:index], state, *now.people[index + 1 :]))

    if knows is None:
        for number, turn in world.store.turns.items():
            if turn["status"] == "parked":
                read = with_person(world, (number, turn["reply"]))
                yield Step(
                    f"{name} reads the question of turn {number}", read, None, _unchanged, is_fair=False
                )
    elif len(knows) == 2:
        number, reply = knows
        kind = scenario.people[index]
        args = reply_args(number, reply, name, rule="person", is_final=kind == "answer")
        call = make_call("parked/reply", args)
        if kind == "answer":
            call = call._replace(rest=(f"{number}|{name}",))

        def answered(now: World, outcome: Outcome | None) -> World:
            assert outcome is not None
            return with_person(send_after_reply(now, number, outcome), ())

        verb = "answers" if kind == "answer" else "returns"
        text = f"{name} {verb} turn {number} under reply token {reply}"
        yield from _with_lost_answer(Step(text, world, call, answered, is_fair=False))


def _with_lost_answer(step: Step) -> Iterator[Step]:
    yield step
    if step.before.budget.allows("lost_answers"):
        text = f"{step.text}; the answer is lost"
        yield Step(text, step.before.less("lost_answers"), step.call, _unchanged, is_fair=False)


def _operator(scenario: Scenario, world: World) -> Iterator[Step]:
    if world.operated >= len(scenario.operator):
        return
    command = scenario.operator[world.operated]
    call = operator_call(scenario, world.operated)

    def answered(now: World, _: Outcome | None) -> World:
        return now._replace(operated=now.operated + 1)

    step = Step(f"the operator calls {command}", world, call, answered)
    yield from _with_lost_answer(step)


def _cancel(world: World) -> Iterator[Step]:
    """Yield the two parts of a cancel: reading the scopes of the open turns, and the script."""
    scopes = world.cancelling
    if scopes is None:
        if not world.store.is_final:
            read = world._replace(cancelling=world.store.open_scopes)
            yield Step("the operator reads the session, to cancel it", read, None, _unchanged, is_fair=False)
    elif scopes != _DONE:
        args = {"request": "cancel", "reason": "cancelled", "detail": "", "retention_ms": 60_000, "by": ""}
        call = Call("sessions/cancel", tuple(args.items()), scopes=scopes)

        def answered(now: World, _: Outcome | None) -> World:
            return now._replace(cancelling=_DONE)

        yield from _with_lost_answer(Step("the operator cancels", world, call, answered, is_fair=False))
