"""Breadth-first search over all states of a scenario, with the shortest path to a violation."""

from __future__ import annotations

import gc
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from redis import Redis

from .call_rules import broken_by_call
from .calls import open_call
from .observing import observe
from .scenario import Scenario
from .server import Outcome, Server, empty_store
from .state_rules import broken_in_state
from .surroundings import surrounding_steps
from .workers import worker_steps
from .world import Step, World, first_world

#: States whose calls are sent to the server together.
_BATCH = 200


@dataclass(slots=True)
class Exploration:
    """What was found in a scenario. `rule` and `trace` are empty if no rule is violated."""

    scenario: Scenario
    states: int = 0
    transitions: int = 0
    depth: int = 0
    #: Calls that the server has run; all others were known.
    calls: int = 0
    ended: int = 0
    seconds: float = 0.0
    rule: str = ""
    trace: list[str] = field(default_factory=list)

    def render(self) -> str:
        """Return the figures in one line, and the steps to a violation."""
        line = (
            f"{self.scenario.name}: {self.states:,} states ({self.ended:,} ended), {self.transitions:,} transitions, "
            f"depth {self.depth}, {self.calls:,} calls of scripts, {self.seconds:.1f} s"
        )
        if not self.rule:
            return f"{line}; no rule is violated"
        steps = [f"  {number}. {text}" for number, text in enumerate(self.trace, 1)]
        return "\n".join([line, f"  VIOLATED: {self.rule}", *steps])


class Explorer:
    """Explores a scenario on a server, which holds nothing else."""

    def __init__(self, client: Redis, scenario: Scenario) -> None:
        self._scenario = scenario
        self._server = Server(client, scenario.scopes)
        self._numbers: dict[World, int] = {}
        self._worlds: list[World] = []
        self._depths: list[int] = []
        #: For each state the one before it, and the step in words.
        self._origins: list[tuple[int, str]] = []
        #: For each state those from which a fair step leads to it.
        self._fair: defaultdict[int, list[int]] = defaultdict(list)
        self._found = Exploration(scenario)
        #: Rules that a call has violated, by the identity of its outcome, which the server keeps.
        self._broken: dict[int, list[str]] = {}

    def explore(self) -> Exploration:
        """Return what was found: the first violation, or that there is none in any state."""
        since = time.perf_counter()
        try:
            with _no_collection():
                self._search()
        finally:
            self._server.clear()
        if not self._found.rule:
            self._check_liveness()
        self._found.states, self._found.depth = len(self._worlds), max(self._depths)
        self._found.ended = sum(world.store.is_final for world in self._worlds)
        self._found.calls, self._found.seconds = self._server.calls, time.perf_counter() - since
        return self._found

    def _search(self) -> None:
        opening = open_call(self._scenario)
        self._server.run([(empty_store(), opening)])
        start = first_world(self._scenario, self._server.outcome(empty_store(), opening).store)
        self._add(start, -1, "the session is opened")
        done = 0
        while done < len(self._worlds):
            numbers = range(done, min(done + _BATCH, len(self._worlds)))
            steps = {number: list(self._steps(self._worlds[number])) for number in numbers}
            self._server.run((s.before.store, s.call) for found in steps.values() for s in found if s.call)
            for number, found in steps.items():
                for step in found:
                    if not self._take(number, step):
                        return
            done = numbers.stop

    def _steps(self, world: World) -> Iterator[Step]:
        yield from worker_steps(self._scenario, world)
        yield from surrounding_steps(self._scenario, world)

    def _take(self, number: int, step: Step) -> bool:
        """Take one step; return False if it violates a rule."""
        self._found.transitions += 1
        world, outcome, broken = step.before, None, []
        if step.call:
            outcome = self._server.outcome(world.store, step.call)
            broken = self._broken_by(step, outcome)
            world, more = observe(step, outcome)
            broken = broken + more
        world = step.then(world, outcome)
        known = number if world is self._worlds[number] else self._numbers.get(world)
        if known is None:
            broken = broken + broken_in_state(self._scenario, world)
            known = self._add(world, number, _in_words(step, outcome))
        if step.is_fair:
            self._fair[known].append(number)
        if broken:
            self._report(broken, [*self._path(number), _in_words(step, outcome)])
        return not broken

    def _broken_by(self, step: Step, outcome: Outcome) -> list[str]:
        """Return the rules that a call violates, which do not depend on what workers and people know."""
        broken = self._broken.get(id(outcome))
        if broken is None:
            assert step.call is not None
            broken = self._broken[id(outcome)] = broken_by_call(step.call, step.before.store, outcome)
        return broken

    def _add(self, world: World, origin: int, text: str) -> int:
        number = len(self._worlds)
        self._numbers[world] = number
        self._worlds.append(world)
        self._origins.append((origin, text))
        self._depths.append(self._depths[origin] + 1 if origin >= 0 else 0)
        return number

    def _path(self, number: int) -> list[str]:
        texts = []
        while number >= 0:
            number, text = self._origins[number]
            texts.append(text)
        return texts[::-1]

    def _report(self, broken: Sequence[str], trace: list[str]) -> None:
        self._found.rule, self._found.trace = "; ".join(broken), trace

    def _check_liveness(self) -> None:
        """Report a state from which no fair steps lead to the end of the session."""
        ending = deque(number for number, world in enumerate(self._worlds) if world.store.is_final)
        can_end = set(ending)
        while ending:
            for origin in self._fair[ending.popleft()]:
                if origin not in can_end:
                    can_end.add(origin)
                    ending.append(origin)
        stuck = next((number for number in range(len(self._worlds)) if number not in can_end), None)
        if stuck is not None:
            self._report(["from here no fair steps lead to the end of the session"], self._path(stuck))


def _in_words(step: Step, outcome: Outcome | None) -> str:
    return f"{step.text}: {outcome.word}" if outcome and "is lost" not in step.text else step.text


@contextmanager
def _no_collection() -> Iterator[None]:
    """Collect no garbage while the block runs: all states are kept, and each full collection would visit them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
