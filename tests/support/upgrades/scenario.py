"""Sessions of all kinds in the middle of their turns, a batch review and a schedule: the state that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from redis import Redis

from live import result_of, until
from symposia.jobs.collab import CollabJob
from symposia.state.redis.keys import session_key
from upgrades.installation import UpgradeInstallation

#: Session by session: mode, participants with their agents, options of its submission.
_TEAM = {
    "mode": "round_robin",
    "title": "team",
    "purpose": "help",
    "participants": [{"participant_id": "cat"}, {"participant_id": "dan"}],
    "agents": {"cat": "stepped", "dan": "stepped"},
    "stop": {"max_turns": 2},
}
_ITEMS = [{"text": "plan"}, {"text": "paint"}]
#: Roles of participants.
_ROLES = {"tess": "tester"}


@dataclass(frozen=True)
class _Kept:
    """A session that is kept, and the turns that are written before."""

    mode: str
    agents: Mapping[str, Any]
    how: Mapping[str, Any] = field(default_factory=dict)
    people: tuple[str, ...] = ()
    written: tuple[int, ...] = ()


def _stepped(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "stepped")


#: Of each mode one in the middle of a turn; then sessions that wait.
_SESSIONS = {
    "round_robin": _Kept("round_robin", _stepped("ann", "bob"), {"stop": {"max_turns": 4}}, written=(1, 2)),
    "pair": _Kept("pair", _stepped("dora", "nick"), written=(1, 2)),
    "orchestrated": _Kept(
        "orchestrated",
        _stepped("lead", "coder", "tester", "writer"),
        {"options": {"orchestrator": "lead"}},
        written=(1, 2, 3, 4),
    ),
    "broadcast": _Kept(
        "broadcast",
        _stepped("ann", "bob", "sum"),
        {"options": {"aggregator": "sum"}, "stop": {"max_rounds": 1}},
        written=(1,),
    ),
    "swarm": _Kept("swarm", _stepped("ann", "tess"), {"items": _ITEMS}, written=(1,)),
    "suspended": _Kept("pair", _stepped("dora", "nick"), {"stop": {"max_turns": 2}}),
    "team": _Kept(
        "round_robin",
        {"ann": "stepped", "team": {"session": {**_TEAM, "parameters": {"gate": "team.gate"}}}},
        {"stop": {"max_turns": 2}},
        written=(1,),
    ),
    "question": _Kept(
        "round_robin", _stepped("ann"), {"stop": {"max_turns": 3}}, people=("ben",), written=(1,)
    ),
    "guard": _Kept("round_robin", {"bob": "guarded"}, {"stop": {"max_turns": 2}}, people=("ben",)),
    "approval": _Kept("round_robin", {"bob": "payer"}, {"stop": {"max_turns": 1}, "approvers": ["ann"]}),
}
#: Reason of the end, and turns that are written, of each of them.
ENDS = {
    "round_robin": ("max_turns", 4),
    "pair": ("approved", 4),
    "orchestrated": ("satisfied", 6),
    "broadcast": ("max_rounds", 3),
    "swarm": ("board_empty", 4),
    "suspended": ("max_turns", 2),
    "team": ("max_turns", 2),
    "question": ("max_turns", 3),
    "guard": ("max_turns", 2),
    "approval": ("max_turns", 1),
}
#: Sessions that end before the state is kept.
_ENDED = {
    "ended": _Kept("round_robin", {"ann": "say", "bob": "artist"}, {"stop": {"max_turns": 2}}),
    "typed": _Kept(
        "round_robin",
        {"bob": "clerk"},
        {"stop": {"max_turns": 1}, "output": {"type": "object", "required": ["nonce"]}},
    ),
    "failed": _Kept(
        "round_robin",
        {"bob": "moody"},
        {"stop": {"max_turns": 1}, "policy": {"attempts": 1}, "parameters": {"mood": "raises"}},
    ),
}


def run_to_the_middle(installation: UpgradeInstallation) -> dict[str, str]:
    """Run everything to where it is kept; return the ids by their names in the tests."""
    ids = {name: _submit(installation, name, kept).id for name, kept in {**_ENDED, **_SESSIONS}.items()}
    for name in _ENDED:
        result_of(installation.client.get_job(ids[name]))
    for name, kept in _SESSIONS.items():
        if kept.written:
            installation.open_gate(name, *kept.written)
    installation.open_gate("team", 1)
    review = installation.client.review(
        installation.folder / "shop",
        panel="slow",
        root_name="shop",
        panels_file=installation.folder / "panels.toml",
    )
    installation.client.schedules.add("daily", cron="30 6 * * *", job="job")
    ids["schedule_run"], ids["queued_run"] = (
        installation.client.schedules.run_now("daily") for _ in range(2)
    )
    ids["review"] = review.id
    _wait_for_middle(installation, ids)
    return ids


def _submit(installation: UpgradeInstallation, name: str, kept: _Kept) -> CollabJob:
    return installation.client.submit(**_arguments(name, kept))


def _arguments(title: str, kept: _Kept) -> dict[str, Any]:
    """Return the arguments of `Client.submit`, as JSON data; the title is the name of the gate."""
    participants = [
        {"participant_id": it, "role_id": _ROLES.get(it), "kind": "human" if it in kept.people else "agent"}
        for it in (*kept.agents, *kept.people)
    ]
    collab = {"title": title, "purpose": "be finished", "mode": kept.mode, "participants": participants}
    how = dict(kept.how)
    parameters = {"gate": f"{title}.gate", "log": "calls.jsonl", **how.pop("parameters", {})}
    return {"collab": collab, "agents": dict(kept.agents), "parameters": parameters, **how}


#: Sessions that a client of any version submits: one of each mode, and a question to a person.
SUBMITTED = ("round_robin", "pair", "orchestrated", "broadcast", "swarm", "question")


def submission(name: str, *, title: str) -> dict[str, Any]:
    """Return the arguments of `Client.submit` for one of the sessions, as JSON data."""
    return _arguments(title, _SESSIONS[name])


def _wait_for_middle(installation: UpgradeInstallation, ids: Mapping[str, str]) -> None:
    """Wait until all turns are written that should be, and all questions are asked."""
    for name, kept in _SESSIONS.items():
        job = installation.client.get_job(ids[name])
        until(
            lambda job=job, kept=kept: job.state().closed == len(kept.written), what=f"{name} in the middle"
        )
    until(lambda: len(installation.client.inbox()) == 3, what="a question, a guard and an approval")
    with Redis.from_url(installation.redis_url, decode_responses=True) as client:
        _hold(installation, client, ids["suspended"])
        until(lambda: _is_running(client, ids["schedule_run"]), what="the job of the schedule")
        until(lambda: _team_of(client, ids), what="the sub-session")
        until(lambda: _has_reviewed(installation, ids["review"]), what="two reviewed files")
        until(lambda: _are_archived(installation, ids), what="ended sessions are archived")


def _hold(installation: UpgradeInstallation, client: Redis, session: str) -> None:
    """Suspend a session in a turn, whose commit is then held."""
    until(lambda: _is_running(client, session), what="a turn of the suspended session")
    installation.client.get_job(session).suspend()
    installation.open_gate("suspended", 1)
    until(lambda: "held" in str(client.hgetall(session_key(session, "turns"))), what="a held commit")


def _is_running(client: Redis, session: str) -> bool:
    return bool(client.exists(session_key(session, "lock:floor")))


def _team_of(client: Redis, ids: Mapping[str, str]) -> bool:
    """Return whether the sub-session has written its first turn."""
    below = [key for key in client.scan_iter(session_key("*", "session")) if client.hget(key, "parent")]
    return [client.hget(key, "closed") for key in below] == ["1"]


def _are_archived(installation: UpgradeInstallation, ids: Mapping[str, str]) -> bool:
    reader = installation.client.archived()
    return reader is not None and all(reader.has_ended(ids[name]) for name in _ENDED)


def _has_reviewed(installation: UpgradeInstallation, review: str) -> bool:
    return installation.client.get_review(review).progress().done == 2


def answer_all(installation: UpgradeInstallation, ids: Mapping[str, str]) -> None:
    """Answer what was asked before the upgrade, and what is asked next."""
    job = installation.client.get_job
    job(ids["question"]).reply("ben", "It is blue.")
    job(ids["guard"]).reply("ben", "approve")
    until(lambda: [it.is_own for it in job(ids["guard"]).pending()] == [True], what="the guard lets it pass")
    job(ids["guard"]).reply("ben", "Thanks.")
    for decision in ("approve", "refuse"):
        (asked,) = until(lambda: job(ids["approval"]).pending(), what="a call to decide on")
        job(ids["approval"]).reply("ann", decision, token=asked.reply_token)
