"""Defects of the protocol: one change in the source of one script each, which the model must find."""

from __future__ import annotations

from typing import NamedTuple


class Defect(NamedTuple):
    """A change of a script, the scenario in which it is found, and what is then violated."""

    name: str
    verb: str
    old: str
    new: str
    scenario: str
    #: Part of the violated rule.
    rule: str


DEFECTS = (
    Defect(
        "commit accepts any writer while the turn has a lock",
        "turns/commit",
        "if turn.token ~= token or lock_owner(lock) ~= token then",
        "if not lock_owner(lock) then",
        "two turns",
        "stale token ~a writes turn 1",
    ),
    Defect(
        "reply accepts a second answer",
        "parked/reply",
        "if turn.status ~= 'parked' then return { 'double' } end",
        "",
        "question to two people",
        "has an effect, but no turn waits for it",
    ),
    Defect(
        "sweep ignores expired leases",
        "sessions/sweep",
        "next_ms = ttl >= 0 and now + ttl + 1 or math.max(turn.began_ms, turn.swept_ms or 0)",
        "next_ms = now + math.abs(ttl) + 1",
        "two turns",
        "no fair steps lead to the end",
    ),
    Defect(
        "resume writes held commits twice",
        "sessions/resume",
        "if turn.status == 'held' then\n",
        "if turn.status == 'held' then\n"
        "    local held = redis.call('HGET', turns, number .. ':held')\n"
        "    write_turn(keys, number, turn, cjson.decode(held))\n"
        "    redis.call('HSET', turns, number .. ':held', held)\n",
        "suspended and cancelled",
        "the commits of turns [1] were held",
    ),
    Defect(
        "plan does not compare the version",
        "sessions/plan",
        "if known_field(session, 'version') ~= expected then return view(session, turns, 'outdated') end",
        "",
        "two turns",
        "a step was planned twice",
    ),
    Defect(
        "begin grants a turn that another worker holds",
        "turns/begin",
        "if owner and turn.token ~= token then return { 'busy' } end",
        "if owner and turn.token ~= token then owner = nil end",
        "two turns",
        "is granted while",
    ),
    Defect(
        "commit grants the next turn under its own lock",
        "turns/commit",
        "if claimed then claimed.lock, claimed.listening = table.remove(locks), listening end",
        "if claimed then table.remove(locks) claimed.lock, claimed.listening = lock, listening end",
        "claimed turn beside others",
        "is granted, but None holds floor",
    ),
    Defect(
        "commit grants the next turn after the deadline",
        "lib/planning",
        "if deadline and NOW >= tonumber(deadline) then return false end",
        "",
        "claimed turn, deadline",
        "is granted after the deadline",
    ),
    Defect(
        "commit grants the turn of an outdated plan",
        "turns/commit",
        "if next_step and KNOWN.version == expected then",
        "if next_step then",
        "claimed turn, steered",
        "applies, but the settings have edition 1",
    ),
    Defect(
        "repeated commit of held output is refused",
        "turns/commit",
        "if turn.status == 'held' and turn.token == token then return view(session, turns, 'held') end",
        "",
        "suspended and cancelled",
        "is refused as stale",
    ),
    Defect(
        "failed attempt keeps its reservation",
        "turns/fail",
        "release_reservation(session, turn)\n",
        "",
        "limited tokens, question",
        "turn 1 reserves tokens, but no attempt is running",
    ),
    Defect(
        "failed attempt is accepted without its lock",
        "turns/fail",
        "if turn.token ~= token or lock_owner(lock) ~= token then",
        "if turn.token ~= token then",
        "failed attempt",
        "stale token ~a makes turn 1 planned",
    ),
    Defect(
        "release of a lost worker ends the lease of its successor",
        "turns/release_lost",
        "turn.token ~= token or turn.status ~= 'speaking' or lock_owner(lock) ~= token",
        "turn.status ~= 'speaking' or not lock_owner(lock)",
        "two turns",
        "the lease of another token than ~a ends",
    ),
    Defect(
        "begin ignores the delay of a retry",
        "turns/begin",
        "if NOW < turn.not_before or admitted == '' then return { 'early' } end",
        "",
        "failed attempt",
        "is granted before its retry is due",
    ),
    Defect(
        "begin grants a token twice",
        "turns/begin",
        "if is_old and owner ~= token then return { 'lost' } end",
        "",
        "two turns",
        "gets a second grant",
    ),
    Defect(
        "reply accepts a late answer",
        "parked/reply",
        "if rule == 'person' and turn.until_ms and NOW > turn.until_ms then return { 'late' } end",
        "",
        "question to another person",
        "by the rule person has an effect after the deadline",
    ),
    Defect(
        "repeated reply is refused",
        "parked/reply",
        "if turn.request == request then",
        "if false then",
        "question, suspended",
        "the repeated reply of person 1 is refused",
    ),
    Defect(
        "update ignores the reply token",
        "parked/update",
        "if not is_parked or turn.reply ~= reply then",
        "if not is_parked then",
        "question to another person",
        "an update under reply token",
    ),
    Defect(
        "commit applies an outdated plan",
        "turns/commit",
        "if next_step and KNOWN.version == expected then",
        "if next_step then",
        "stopped",
        "a step is planned after the session was asked to stop",
    ),
    Defect(
        "sweep forgets what a dropped turn has spent",
        "sessions/sweep",
        "if turn.grants > 0 then keep_accounts(session, number, turn) end",
        "",
        "one of two turns is dropped",
        "attempts have reported 2 tokens, booked are 1",
    ),
    Defect(
        "post is written while a turn runs",
        "sessions/post",
        "if not is_busy then flush_posts",
        "if status == 'active' then flush_posts",
        "posts",
        "a post is written while a turn runs",
    ),
    Defect(
        "repeated post is added again",
        "sessions/post",
        "if is_known_request(session, 'posted_by', request) then return view(session, turns, 'posted') end",
        "",
        "posts",
        "were accepted, but the session has",
    ),
    Defect(
        "plan applies after a change of settings",
        "sessions/steer",
        "redis.call('HINCRBY', session, 'version', 1)",
        "",
        "steered",
        "applies, but the settings have edition 1",
    ),
    Defect(
        "wait for an agent takes a running turn",
        "turns/await_agent",
        "(turn.status == 'speaking' and not lock_owner(lock))",
        "turn.status == 'speaking'",
        "agent of no worker",
        "waits for an agent, but",
    ),
    Defect(
        "activate starts a cancelled draft",
        "sessions/activate",
        "if status ~= 'draft' then",
        "if status == 'active' then",
        "draft",
        "an event follows the end of the session",
    ),
)


def defect_named(name: str) -> Defect:
    """Return a defect by its name.

    Raises:
        ValueError: There is none of this name.
    """
    for defect in DEFECTS:
        if defect.name == name:
            return defect
    raise ValueError(f"unknown defect {name!r}, expected one of {[defect.name for defect in DEFECTS]}")
