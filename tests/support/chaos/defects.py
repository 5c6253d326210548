"""Planted defects: what the product would be without one of its rules. A suite that does not find them proves nothing."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from celery import Celery

from symposia.models.turn import TurnResult
from symposia.state import scripts
from symposia.state.plans import PlanWrite
from symposia.state.records import Answer, Grant
from symposia.state.requests import Speech
from symposia.state.store import SessionStore
from symposia.tasks.graph import TurnCall
from symposia.tasks.runtime import Runtime
from symposia.workers.steps import SweepStep


@dataclass(frozen=True)
class Defect:
    """What is changed: lines of scripts, the runtime, the app."""

    #: Script name -> (text, what stands there instead).
    lua: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    runtime: Callable[[Runtime], Runtime] = lambda runtime: runtime
    app: Callable[[Celery], object] = lambda _app: None


class EagerStore(SessionStore):
    """Sends the next turn before the one that leads to it is written."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime.store.client)
        self._runtime = runtime

    def commit(
        self, session_id: str, grant: Grant, speech: Speech, *, then: PlanWrite | None = None
    ) -> Answer:
        """As it should not be."""
        result = TurnResult.model_validate_json(speech.result)
        facts = self._runtime.facts.get(session_id)
        following = facts.roster[(list(facts.roster).index(result.participant) + 1) % len(facts.roster)]
        call = TurnCall(session_id, grant.number + 1, following, facts.collab.mode, grant.scope)
        self._runtime.graph.send_turns([call], parent=session_id)
        time.sleep(0.1)  # what a network may take
        return super().commit(session_id, grant, speech, then=then)


class SilentGraph:
    """Sends nothing after a commit: it has been sent already."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def send_turns(self, *_args: object, **_options: object) -> None:
        """Not again."""

    def send_advance(self, session_id: str, *, first: bool = False) -> None:
        """As the graph does."""
        self._graph.send_advance(session_id, first=first)


def _eager(runtime: Runtime) -> Runtime:
    return dataclasses.replace(runtime, store=EagerStore(runtime))


def _no_sweep(app: Celery) -> None:
    app.steps["worker"].discard(SweepStep)


_HOLDS_NOW = "if turn.token ~= token or lock_owner(lock) ~= token then"
_NOT_OUTDATED = (
    "if redis.call('HGET', session, 'version') ~= expected then return view(session, turns, 'outdated') end"
)

DEFECTS: dict[str, Defect] = {
    "": Defect(),
    "no token check": Defect(lua={"commit": (_HOLDS_NOW, "if false then")}),
    "no sweep": Defect(app=_no_sweep),
    "no turn dedupe": Defect(
        lua={"begin": ("if not is_open(turn) then return view(session, turns, 'done') end", "")}
    ),
    "release without owner check": Defect(
        lua={"commit": (_HOLDS_NOW, "if turn.token ~= token then redis.call('DEL', lock) end " + _HOLDS_NOW)}
    ),
    "plan without compare-and-set": Defect(lua={"plan": (_NOT_OUTDATED, "")}),
    "dispatch before commit": Defect(runtime=_eager),
}


def plant(name: str) -> Defect:
    """Puts a defect's lines into the scripts of this process; answers what else it changes."""
    defect = DEFECTS[name]
    sound = scripts._lua

    def defective(verb: str) -> str:
        text = sound(verb)
        if verb in defect.lua:
            right, wrong = defect.lua[verb]
            assert right in text, f"{verb}.lua has changed; plant the defect {name!r} anew"
            text = text.replace(right, wrong)
        return text

    scripts._lua = defective
    return defect
