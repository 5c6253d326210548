"""The sessions of `symposia demo`: the one of each mode, played by the local model or from scripts.

A librarian, an architect and a poet plan a library. With `local` they are played by the local model; with `scripted` by
agents that repeat the replies of the mode's `Demo`, or those in `agents/registry/demo.toml`. The host and the reviewer
follow a script in both: to decide who speaks next, or to approve work, takes a larger model than the local one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ...models.sessions.submission import Submission
from ...tasks.planners import Demo, Mode, modes

AgentKind = Literal["local", "scripted"]

_ROLES = {"ada": "librarian", "ben": "architect", "cleo": "poet"}


def demo_sessions(kind: AgentKind, only: str | None = None) -> list[Submission]:
    """Return the sessions in the order in which they are shown; `only`: that of one mode."""
    return [
        _session(mode, mode.demo, kind)
        for mode in modes()
        if mode.demo is not None and only in (None, mode.name)
    ]


def _session(mode: Mode, demo: Demo, kind: AgentKind) -> Submission:
    roles = {**_ROLES, **demo.roles}
    agents = {
        name: {**({"agent": name} if name in demo.scripted else _agent(name, kind, replies)), **demo.binding}
        for name, replies in demo.replies.items()
    }
    participants = [
        {"participant_id": name, "role_id": roles.get(name), "display_name": name.capitalize()}
        for name in agents
    ]
    collab = {
        "title": demo.title,
        "purpose": demo.purpose,
        "mode": mode.name,
        "participants": participants,
    }
    return Submission.build(
        collab, agents=agents, stop=demo.stop, options=demo.options, messages=list(demo.messages)
    )


def _agent(name: str, kind: AgentKind, replies: Sequence[Any]) -> dict[str, Any]:
    """Return the binding of a participant; the scripted agent says `replies` before its usual lines."""
    if kind == "local":
        return {"agent": name}
    binding: dict[str, Any] = {"agent": f"{name}-scripted"}
    return {**binding, "parameters": {"replies": list(replies)}} if replies else binding
