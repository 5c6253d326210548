"""One state of the model: the session's keys, the queue, and what workers and people know."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from .scenario import Budget, Plan, Scenario
from .server import Call, Outcome
from .store import Store


class Message(NamedTuple):
    """A message in the queue: to run a turn, or (number 0) to plan the next step."""

    number: int
    scope: str = ""


ADVANCE = Message(0)


class Worker(NamedTuple):
    """What a worker knows. `doing`: `idle`, `speak`, or the call that it has decided to make."""

    doing: str = "idle"
    number: int = 0
    scope: str = ""
    token: str = ""
    #: The plan that it makes, or that its commit carries.
    plan: Plan | None = None
    #: The reply token of a parked turn.
    reply: str = ""
    #: The token under which its commit claims the only turn of its plan.
    claim: str = ""


IDLE = Worker()


@cache
def _text_of(worker: Worker) -> str:
    return repr(worker)


@lru_cache(maxsize=10_000)
def _names_in(*known: object) -> str:
    return repr(known)


class World(NamedTuple):
    """A state of the model. Equal states have the same future."""

    store: Store
    workers: tuple[Worker, ...]
    queue: frozenset[Message]
    #: What each person is about to answer: turn number and reply token; None: nothing yet, `()`: done.
    people: tuple[tuple[int, str] | tuple[()] | None, ...]
    #: How many commands of the operator are done.
    operated: int
    #: Scopes of the locks that the caller of a cancel has read; None: not called yet, `("",)`: done.
    cancelling: tuple[str, ...] | None
    budget: Budget
    #: Tokens that were dispatched and not completed.
    grants: frozenset[str] = frozenset()
    #: Tokens spent by attempts that have reported it, and those that events have reported.
    spent: int = 0
    reported: int = 0
    #: The request that ended each wait, by reply token.
    answered: frozenset[tuple[str, str]] = frozenset()

    def with_worker(self, index: int, worker: Worker) -> World:
        """Return the world with another state of one worker. Workers are alike, so their order does not count."""
        workers = (*self.workers[:index], worker, *self.workers[index + 1 :])
        return self._replace(workers=tuple(sorted(workers, key=_text_of)))

    def less(self, kind: str) -> World:
        """Return the world with one `kind` less in its budget."""
        return self._replace(budget=self.budget.less(kind))

    def with_messages(self, numbers: Iterable[int]) -> World:
        """Return the world with the messages of turns in its queue."""
        turns = self.store.turns
        messages = {Message(number, turns[number]["scope"]) for number in numbers if number in turns}
        return self._replace(queue=self.queue | messages)

    def new_name(self, prefix: str) -> str:
        """Return a name that occurs nowhere in this world: unused names are used again, so that states meet."""
        known = self.store.text + _names_in(self.workers, self.people, self.grants, self.answered)
        return next(name for letter in "abcdefghijklmnopqrstuvwxyz" if (name := prefix + letter) not in known)


class Step(NamedTuple):
    """One possible step: what it is in words, the world in which it happens, its call, and the world after it.

    `then` gets `before` with the store that the call has left.
    """

    text: str
    before: World
    call: Call | None
    then: Callable[[World, Outcome | None], World]
    #: What a healthy system does sooner or later.
    is_fair: bool = True
    #: The first report of what an attempt has spent.
    is_report: bool = False


def first_world(scenario: Scenario, store: Store) -> World:
    """Return the world after the session was opened."""
    return World(
        store=store,
        workers=(IDLE,) * scenario.workers,
        queue=frozenset({ADVANCE}),
        people=(None,) * len(scenario.people),
        operated=0,
        cancelling=None,
        budget=scenario.budget,
    )
