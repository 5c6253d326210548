"""Planted defects: what the product would be without one of its rules. A suite that does not find them proves nothing."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from celery import Celery

from symposia.models.turns.turn import TurnResult
from symposia.state.redis import scripts
from symposia.state.sessions.records import Grant, ScriptAnswer
from symposia.state.sessions.requests import PlanWrite, TurnOutput
from symposia.state.sessions.store import SessionStore
from symposia.tasks.runtime.graph import TaskGraph, TurnCall
from symposia.tasks.runtime.runtime import Runtime
from symposia.workers.steps.sweep import SweepStep


@dataclass(frozen=True)
class Defect:
    """What is changed: lines of scripts, the runtime, the app."""

    #: Script -> (line, what stands there instead).
    lua: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    runtime: Callable[[Runtime], Runtime] = lambda runtime: runtime
    app: Callable[[Celery], object] = lambda _app: None


class EagerGraph(TaskGraph):
    """Sends a turn ahead of its time, and not again when its time has come."""

    def __init__(self, app: Celery) -> None:
        super().__init__(app)
        self._ahead: set[tuple[str, int]] = set()

    def send_ahead(self, call: TurnCall) -> None:
        """Send turns that are not planned yet."""
        super().send_turns([call], parent=call.session, sent_ms=0)
        self._ahead.add((call.session, call.turn))

    def send_turns(self, calls: Sequence[TurnCall], *, parent: str, sent_ms: int) -> None:
        """Sends those that were not sent ahead."""
        due = [call for call in calls if (call.session, call.turn) not in self._ahead]
        self._ahead -= {(call.session, call.turn) for call in calls}
        super().send_turns(due, parent=parent, sent_ms=sent_ms)


class EagerStore(SessionStore):
    """Sends the next turn before the one that leads to it is written."""

    def __init__(self, runtime: Runtime, graph: EagerGraph) -> None:
        super().__init__(runtime.store.client)
        self._facts = runtime.sessions.facts
        self._graph = graph

    def commit(
        self,
        session_id: str,
        grant: Grant,
        speech: TurnOutput,
        *,
        then: PlanWrite | None = None,
        **claim: Any,
    ) -> ScriptAnswer:
        """As it should not be."""
        facts = self._facts.get(session_id)
        names = list(facts.roster)
        speaker = TurnResult.model_validate_json(speech.result).participant
        following = names[(names.index(speaker) + 1) % len(names)]
        self._graph.send_ahead(
            TurnCall(session_id, grant.number + 1, following, facts.collab.mode, grant.scope)
        )
        time.sleep(0.1)  # what a network may take
        return super().commit(session_id, grant, speech, then=then, **claim)


def _eager(runtime: Runtime) -> Runtime:
    graph = EagerGraph(runtime.graph._app)
    return dataclasses.replace(
        runtime, stores=dataclasses.replace(runtime.stores, store=EagerStore(runtime, graph)), graph=graph
    )


def _no_sweep(app: Celery) -> None:
    app.steps["worker"].discard(SweepStep)


_HOLDS_NOW = "if turn.token ~= token or lock_owner(lock) ~= token then"
_FORGETS_THE_PLAN = "redis.call('HDEL', keys.turns, number .. ':plan', number .. ':held', number .. ':wait')"
_NOT_OUTDATED = (
    "if known_field(session, 'version') ~= expected then return view(session, turns, 'outdated') end"
)
_IS_GONE = "if sent_ms == 0 or sent_ms <= taken_until then"

DEFECTS: dict[str, Defect] = {
    "": Defect(),
    "no token check": Defect(lua={"turns/commit": (_HOLDS_NOW, "if false then")}),
    "no sweep": Defect(app=_no_sweep),
    "no turn dedupe": Defect(
        lua={
            "turns/begin": ("if not is_open(turn) then return view(session, turns, 'done') end", ""),
            "lib/writing": (_FORGETS_THE_PLAN, ""),
            "lib/ending": (_FORGETS_THE_PLAN, ""),
        }
    ),
    "release without owner check": Defect(
        lua={
            "turns/commit": (
                _HOLDS_NOW,
                "if turn.token ~= token then redis.call('DEL', lock) end " + _HOLDS_NOW,
            )
        }
    ),
    "plan without compare-and-set": Defect(lua={"sessions/plan": (_NOT_OUTDATED, "")}),
    "messages sent again while they wait": Defect(lua={"sessions/sweep": (_IS_GONE, "if true then")}),
    "dispatch before commit": Defect(runtime=_eager),
}


def plant(name: str) -> Defect:
    """Puts a defect's lines into the scripts of this process; answers what else it changes."""
    defect = DEFECTS[name]
    sound = scripts._lua
    for script, (right, _) in defect.lua.items():
        assert right in sound(script), f"{script}.lua has changed: adapt the defect {name!r}"

    def defective(script: str) -> str:
        right, wrong = defect.lua.get(script, ("", ""))
        return sound(script).replace(right, wrong) if right else sound(script)

    scripts._lua = defective
    return defect
