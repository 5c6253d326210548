"""What must be true of every call of a script: each rule yields what the call violates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .server import Call, Outcome
from .store import NOW_MS, POSTED, Store

#: Calls after which the dialog may be longer.
_WRITERS = ("turns/commit", "parked/reply", "sessions/resume")
#: The calls that write what waited while the session had a status.
_LEAVES = {"draft": "sessions/activate", "suspended": "sessions/resume"}


def broken_by_call(call: Call, before: Store, outcome: Outcome) -> list[str]:
    """Return the rules that a call on a store has violated."""
    args = dict(call.args)
    return [text for rule in _RULES for text in rule(call, args, before, outcome)]


def _script_succeeds(call: Call, args: dict[str, Any], before: Store, outcome: Outcome) -> Iterator[str]:
    if outcome.word.startswith("failed"):
        yield f"{call.verb} {outcome.word}"


def _dialog_only_grows(call: Call, args: dict[str, Any], before: Store, outcome: Outcome) -> Iterator[str]:
    if outcome.store.dialog[: len(before.dialog)] != before.dialog:
        yield "a written message was changed or removed"
    added = _added(before, outcome)
    if not added:
        return
    if before.is_final:
        yield "a session that has ended accepts a message"
    are_posts = all(it.startswith(POSTED) for it in added)
    ends = outcome.store.is_final and are_posts  # the end of a session writes the posts that wait
    if call.verb != _LEAVES.get(before.status, call.verb) and not ends:
        yield f"a message is written while the session is {before.status}"
    if call.verb not in _WRITERS and not are_posts:
        yield f"{call.verb} writes a message of a turn"


def _posts_wait_for_running_turns(
    call: Call, args: dict[str, Any], before: Store, outcome: Outcome
) -> Iterator[str]:
    is_running = any(turn["status"] == "speaking" for turn in before.turns.values())
    if call.verb == "sessions/post" and is_running and _added(before, outcome):
        yield "a post is written while a turn runs"


def _plans_are_current(call: Call, args: dict[str, Any], before: Store, outcome: Outcome) -> Iterator[str]:
    if call.verb not in ("sessions/plan", "turns/commit") or not args["plan"]:
        return
    name = json.loads(args["plan"])["id"]
    is_new = name == outcome.store.session.get("planned_by") != before.session.get("planned_by")
    if is_new and int(name.partition("@")[2]) != before.count("edition"):
        yield f"{name} applies, but the settings have edition {before.count('edition')}"
    if is_new and args["expected"] != before.session["version"]:
        yield f"{name} applies to version {before.session['version']}, but was made for {args['expected']}"


def _end_is_the_last_event(
    call: Call, args: dict[str, Any], before: Store, outcome: Outcome
) -> Iterator[str]:
    if outcome.events and before.is_final:
        yield "an event follows the end of the session"


def _dispatched(outcome: Outcome) -> Iterator[tuple[int, str, int]]:
    """Yield number, token and fencing number of each turn that a call has granted."""
    for event in outcome.events:
        if event["event_type"] == "MAPTurnDispatched":
            payload = event["payload"]
            yield payload["turn_number"], payload["token_id"], payload["fence"]


def _grants_are_new(call: Call, args: dict[str, Any], before: Store, outcome: Outcome) -> Iterator[str]:
    for number, token, fence in _dispatched(outcome):
        turn = before.turns.get(number, {})
        if token in (turn.get("token"), *turn.get("former", "").split()):
            yield f"token {token} gets a second grant"
        if fence <= before.count("fence"):
            yield f"token {token} gets fencing number {fence}, which is not higher than the last one"
        if outcome.store.count("fence") < fence:
            yield f"the fencing number of token {token} can be given again"


def _grants_are_due(call: Call, args: dict[str, Any], before: Store, outcome: Outcome) -> Iterator[str]:
    for number, token, _ in _dispatched(outcome):
        if before.turns.get(number, {}).get("not_before", 0) > NOW_MS:
            yield f"token {token} is granted before its retry is due"
        if int(before.session.get("deadline_ms", NOW_MS + 1)) <= NOW_MS:
            yield f"token {token} is granted after the deadline of the session"
        if before.status != "active":
            yield f"token {token} is granted while the session is {before.status}"


def _locks_are_exclusive(call: Call, args: dict[str, Any], before: Store, outcome: Outcome) -> Iterator[str]:
    # The commit of a turn releases its own lock before it grants the next turn.
    released = {call.scope: args["token"]} if call.verb == "turns/commit" else {}
    for number, token, _ in _dispatched(outcome):
        scope = outcome.store.turns[number]["scope"]
        if before.locks.get(scope) != released.get(scope):
            yield f"token {token} is granted while {before.locks.get(scope)} holds {scope}"
        if outcome.store.locks.get(scope) != token:
            yield f"token {token} is granted, but {outcome.store.locks.get(scope)} holds {scope}"
    holder = outcome.store.locks.get(call.scope or "")
    if call.verb == "turns/begin" and outcome.word == "granted" and holder != args["token"]:
        yield f"token {args['token']} is granted, but {holder} holds {call.scope}"
    if call.verb == "turns/renew" and outcome.word == "renewed" and holder != args["token"]:
        yield f"token {args['token']} renews a lease that it does not hold"


def _only_the_holder_commits(
    call: Call, args: dict[str, Any], before: Store, outcome: Outcome
) -> Iterator[str]:
    if call.verb != "turns/commit":
        return
    number, token = int(args["number"]), str(args["token"])
    turn, is_holder = before.turns.get(number, {}), _is_holder(call, args, before)
    becomes_held = outcome.store.turns.get(number, {}).get("status") == "held" != turn.get("status")
    if _added(before, outcome) and not is_holder:
        yield f"stale token {token} writes turn {number}"
    if becomes_held and not is_holder:
        yield f"the output of stale token {token} is held"
    if is_holder and outcome.word not in ("committed", "held"):
        yield f"the holder {token} of turn {number} is refused: {outcome.word}"


def _is_holder(call: Call, args: dict[str, Any], before: Store) -> bool:
    """Return whether a worker's token is that of the running turn and of its lock."""
    turn, token = before.turns.get(int(args["number"]), {}), str(args["token"])
    holds_turn = turn.get("status") == "speaking" and turn["token"] == token
    return holds_turn and before.locks.get(call.scope or "") == token


def _only_the_holder_returns_its_turn(
    call: Call, args: dict[str, Any], before: Store, outcome: Outcome
) -> Iterator[str]:
    if call.verb not in ("turns/fail", "parked/park"):
        return
    number, is_holder = int(args["number"]), _is_holder(call, args, before)
    was, now = (store.turns.get(number, {}).get("status") for store in (before, outcome.store))
    if was != now and not is_holder:
        yield f"stale token {args['token']} makes turn {number} {now}"
    if is_holder and outcome.word not in ("retried", "parked"):
        yield f"the holder {args['token']} of turn {number} is refused: {outcome.word}"


def _only_the_lease_of_the_lost_worker_ends(
    call: Call, args: dict[str, Any], before: Store, outcome: Outcome
) -> Iterator[str]:
    if call.verb != "turns/release_lost":
        return
    kept = {scope: token for scope, token in before.locks.items() if token != args["token"]}
    if not kept.items() <= outcome.store.locks.items():
        yield f"the lease of another token than {args['token']} ends, whose worker counts as lost"
    if _is_holder(call, args, before) != (outcome.word == "released"):
        yield f"the lease of token {args['token']}, whose worker counts as lost: {outcome.word}"


def _answers_of_commits_are_true(
    call: Call, args: dict[str, Any], before: Store, outcome: Outcome
) -> Iterator[str]:
    if call.verb != "turns/commit":
        return
    number, token = int(args["number"]), str(args["token"])
    turn, message = before.turns.get(number, {}), f"{number}|{token}"
    is_held = turn.get("status") == "held" and turn.get("token") == token
    if outcome.word in ("committed", "done") and message not in outcome.store.dialog:
        yield f"commit of token {token} was confirmed, but turn {number} is not written"
    if outcome.word == "stale" and (message in before.dialog or is_held):
        yield f"the repeated commit of token {token} is refused as stale"


def _resume_writes_held_commits(
    call: Call, args: dict[str, Any], before: Store, outcome: Outcome
) -> Iterator[str]:
    if call.verb != "sessions/resume" or outcome.word != "resumed" or before.status != "suspended":
        return
    held = [number for number, turn in before.turns.items() if turn["status"] == "held"]
    written = outcome.store.written[len(before.written) :]
    if written != held:
        yield f"resume wrote turns {written}, but the commits of turns {held} were held"


def _replies_end_a_wait(call: Call, args: dict[str, Any], before: Store, outcome: Outcome) -> Iterator[str]:
    if call.verb != "parked/reply" or outcome.store.text == before.text:
        return
    turn = before.turns.get(int(args["number"]), {})
    if turn.get("status") != "parked" or turn.get("reply") != args["reply"]:
        yield f"a reply under token {args['reply']} has an effect, but no turn waits for it"
    is_over = turn.get("until_ms", NOW_MS) < NOW_MS
    if is_over != (args["rule"] == "deadline"):
        yield f"a reply by the rule {args['rule']} has an effect {'after' if is_over else 'before'} the deadline"


def _answers_of_replies_are_true(
    call: Call, args: dict[str, Any], before: Store, outcome: Outcome
) -> Iterator[str]:
    if call.verb != "parked/reply" or outcome.word not in ("late", "early", "foreign", "double"):
        return
    number, request = int(args["number"]), str(args["request"])
    turn, writer = before.turns.get(number, {}), before.session.get(f"token:{number % 64}")
    if turn.get("request") == request or writer == f"{number}|{request}":
        yield f"the repeated reply of {request} is refused: {outcome.word}"


def _only_the_current_wait_is_updated(
    call: Call, args: dict[str, Any], before: Store, outcome: Outcome
) -> Iterator[str]:
    if call.verb != "parked/update" or outcome.store.text == before.text:
        return
    turn = before.turns.get(int(args["number"]), {})
    if turn.get("status") != "parked" or turn.get("reply") != args["reply"]:
        yield f"an update under reply token {args['reply']} has an effect, but no turn waits for it"


def _stop_plans_nothing(call: Call, args: dict[str, Any], before: Store, outcome: Outcome) -> Iterator[str]:
    if before.session.get("stop_requested") == "1" and outcome.store.count("next") > before.count("next"):
        yield "a step is planned after the session was asked to stop"


def _waits_for_agents_are_no_attempts(
    call: Call, args: dict[str, Any], before: Store, outcome: Outcome
) -> Iterator[str]:
    if call.verb != "turns/await_agent" or outcome.store.text == before.text:
        return
    turn, now = (store.turns[int(args["number"])] for store in (before, outcome.store))
    if call.scope in before.locks:
        yield f"turn {args['number']} waits for an agent, but {before.locks[call.scope]} runs it"
    attempt = ("status", "token", "grants", "failures", "fence")
    if [turn.get(it) for it in attempt] != [now.get(it) for it in attempt] or outcome.events:
        yield f"the wait of turn {args['number']} for an agent counts as an attempt"


def _added(before: Store, outcome: Outcome) -> list[str]:
    return outcome.store.dialog[len(before.dialog) :]


_RULES = (
    _script_succeeds,
    _dialog_only_grows,
    _posts_wait_for_running_turns,
    _plans_are_current,
    _end_is_the_last_event,
    _grants_are_new,
    _grants_are_due,
    _locks_are_exclusive,
    _only_the_holder_commits,
    _only_the_holder_returns_its_turn,
    _only_the_lease_of_the_lost_worker_ends,
    _answers_of_commits_are_true,
    _resume_writes_held_commits,
    _replies_end_a_wait,
    _answers_of_replies_are_true,
    _only_the_current_wait_is_updated,
    _stop_plans_nothing,
    _waits_for_agents_are_no_attempts,
)
