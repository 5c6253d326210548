"""The calls of workers and people, with all the arguments that the headers of the scripts name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from symposia.state.redis.scripts import load_script

from .scenario import Scenario
from .server import Call, make_call
from .store import DEADLINE_MS, LONG_MS, NOW_MS, POSTED
from .world import Worker

Args = Mapping[str, str | int]

#: Delay of a retry, and time until a parked turn has due work: both pass before the next sweep.
DELAY_MS = LONG_MS // 2
_LEASE_MS = LONG_MS

_VERBS = {
    "begin": "turns/begin",
    "renew": "turns/renew",
    "commit": "turns/commit",
    "fail": "turns/fail",
    "park": "parked/park",
    "book": "turns/book_spending",
    "book again": "turns/book_spending",
    "plan": "sessions/plan",
    "default": "parked/reply",
    "remind": "parked/update",
    "reassign": "parked/update",
}
_OUTPUT: Args = {"kind": "message", "result": "{}", "record": "", "error": ""}
_CHECK: Args = {
    "until_ms": NOW_MS + DEADLINE_MS,
    "wake_ms": NOW_MS + DELAY_MS,
    "wait": "{}",
    "about": "{}",
    "happened": "",
}
_ROLES = json.dumps({"started": {}, "assignments": [], "targets": []})
_CHANGE: Args = {
    "spec": "{}",
    "next_collab": "",
    "next_spec": "",
    "event": "participant.instructed",
    "about": "{}",
    "format": "1",
}
#: The arguments of each call that are always the same.
_CONSTANT: dict[str, Args] = {
    "begin": {
        "lease_ms": _LEASE_MS,
        "timeout_ms": LONG_MS,
        "window": 10,
        "task_id": "task",
        "parent_id": "",
        "admitted": "1",
        "process": "",
        "seen": "",
        "seen_sha": "",
    },
    "renew": {"lease_ms": _LEASE_MS},
    "commit": {**_OUTPUT, "left_out": 0, "notes": ""},
    "fail": {"delay_ms": DELAY_MS, "agent": "", "error": "no answer", "notes": ""},
    "park": {
        "until_in_ms": DEADLINE_MS,
        "wake_in_ms": DELAY_MS,
        "wait": "{}",
        "about": "{}",
        "task": "",
        "worker": "",
        "notes": "",
        "batch": "",
        "format": "1",
    },
    "remind": {**_CHECK, "event": "turn.reminded"},
    "reassign": {**_CHECK, "event": "turn.reassigned"},
}


def open_call(scenario: Scenario) -> Call:
    """Return the call that creates the session."""
    deadline_ms = DEADLINE_MS if scenario.has_deadline else 0
    how: Args = {"archive": "", "start": "", "parent": "", "draft": "1" if scenario.is_draft else ""}
    stored: Args = {"digest": "d", "collab": "{}", "spec": "{}", "roles": _ROLES, "format": "1"}
    return make_call("sessions/open", {**stored, "deadline_ms": deadline_ms, **how})


@cache
def call_of(scenario: Scenario, worker: Worker) -> Call:
    """Return the call that a worker has decided to make."""
    verb = _VERBS[worker.doing]
    script = load_script(verb)
    if worker.doing == "default":
        args = reply_args(worker.number, worker.reply, worker.token, rule="deadline")
    else:
        known = _own_args(scenario, worker)
        args = {name: known[name] for name in script.args if name in known} | _CONSTANT.get(worker.doing, {})
    call = make_call(verb, args, worker.scope if "lock" in script.keys else None)
    if worker.plan and script.rest_of_keys:
        scopes = scenario.steps[worker.plan.step] if worker.claim else ()
        call = call._replace(scopes=(*worker.plan.scopes, *scopes))
    return (
        call._replace(rest=(f"{worker.number}|{worker.token}",))
        if script.rest_of_args == "messages"
        else call
    )


def _own_args(scenario: Scenario, worker: Worker) -> Args:
    """Return what a worker knows, by the names of arguments."""
    plan = worker.plan
    return {
        "number": worker.number,
        "token": worker.token,
        "scope": worker.scope,
        "reply": worker.reply,
        "new_reply": worker.token if worker.doing == "reassign" else worker.reply,
        "wish": scenario.wish(),
        "spent": json.dumps({worker.token: [1, 0, 0, 0, 0]}),
        "expected": plan.expected if plan else "",
        "plan": plan.document(scenario) if plan else "",
        "claim": _claim(scenario, worker),
    }


def _claim(scenario: Scenario, worker: Worker) -> str:
    if not (worker.claim and worker.plan):
        return ""
    (scope,) = scenario.steps[worker.plan.step]
    known = {name: value for name, value in _CONSTANT["begin"].items() if name != "admitted"}
    return json.dumps({**known, "scope": scope, "token": worker.claim})


def await_agent_call(number: int, agent: str, scope: str) -> Call:
    """Return the call about a turn whose agent no worker knows; '': a worker knows it now."""
    return make_call("turns/await_agent", {"number": number, "agent": agent, "delay_ms": DELAY_MS}, scope)


def operator_call(scenario: Scenario, index: int) -> Call:
    """Return the call of the operator's command at `index`."""
    command = scenario.operator[index]
    request, edition = f"request-{index + 1}", scenario.operator[:index].count("steer")
    args: dict[str, str | int] = {"by": "", "request": request}
    if command == "stop":
        args = {"by": ""}
    elif command == "post":
        args = {"request": request, "message": POSTED + request, "about": "{}"}
    elif command == "steer":
        args = {"request": request, "edition": edition, **_CHANGE}
    elif command == "activate":
        args |= {"edition": edition, "roles": _ROLES}
    return make_call(f"sessions/{command}", args)


def reply_args(number: int, reply: str, request: str, *, rule: str, is_final: bool = True) -> Args:
    """Return the arguments of a reply; `is_final`: it closes the turn, otherwise the turn is returned."""
    end = {**_OUTPUT, "kind": "message" if is_final else "", "outcome": "" if is_final else "asked"}
    back = {"wait": "{}", "agent": "", "about": "{}", "spent": ""}
    return {"number": number, "reply": reply, "request": request, "rule": rule, **end, **back}
