"""The five sessions of `symposia demo`: one small story for each mode.

A librarian, an architect and a poet plan a library. With `local` they are played by the
local model; with `scripted` by their twins, who say what `agents/demo.toml` has for them, or
what stands here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

from ..models.collab import CollabMode
from ..models.submission import Submission

AgentKind = Literal["local", "scripted"]


class _Person(StrEnum):
    """Who takes part, as `agents/demo.toml` knows them."""

    ADA = "ada"
    BEN = "ben"
    CLEO = "cleo"


_ROLES = {_Person.ADA: "librarian", _Person.BEN: "architect", _Person.CLEO: "poet"}
_ALL = tuple(_Person)


def demo_sessions(kind: AgentKind, only: CollabMode | None = None) -> list[Submission]:
    """The sessions, in the order in which they are shown."""
    stories = [_round_robin, _orchestrated, _pair, _broadcast, _swarm]
    submissions = [story(kind) for story in stories]
    return [it for it in submissions if only is None or it.collab.mode is only]


def _round_robin(kind: AgentKind) -> Submission:
    return _session(
        CollabMode.ROUND_ROBIN,
        title="A library for everyone",
        purpose="What makes a library a good place to be? Name one thing.",
        agents=_people(kind),
        stop={"max_rounds": 2},
    )


def _orchestrated(kind: AgentKind) -> Submission:
    host: dict[str, Any] = {"agent": "host"}
    if kind == "local":
        instructions = "You lead a talk. Answer with one line: NEXT: and the name of who speaks next."
        host = {"agent": "ada", "instructions": instructions, "max_tokens": 12}
    return _session(
        CollabMode.ORCHESTRATED,
        title="The host asks",
        purpose="Find out what the new library needs most.",
        agents={"host": host, **_people(kind)},
        roles={"host": "orchestrator"},
        stop={"max_rounds": 3},
        options={"max_invalid": 1},
    )


def _pair(kind: AgentKind) -> Submission:
    replies = [
        "Every reader is welcome here, at every hour of the day, and nobody is ever asked why they came.",
        "Come in. Nobody asks why.",
    ]
    return _session(
        CollabMode.PAIR,
        title="A line above the door",
        purpose="Write one line that stands above the library's door.",
        agents={"cleo": _agent("cleo", kind, replies), "reviewer": {"agent": "reviewer"}},
        stop={"max_rounds": 3},
    )


def _broadcast(kind: AgentKind) -> Submission:
    verdict = ["Quiet, light and room: three answers, one house."]
    return _session(
        CollabMode.BROADCAST,
        title="One question to all",
        purpose="Which single book belongs in every library?" if kind == "local" else "What comes first?",
        agents={**_people(kind, _Person.ADA, _Person.BEN), "cleo": _agent("cleo", kind, verdict)},
        options={"aggregator": "cleo"},
    )


def _swarm(kind: AgentKind) -> Submission:
    plans = [
        {
            "say": "{item}: a courtyard.",
            "items": [{"text": "Write a line for the courtyard wall", "role": "poet"}],
        }
    ]
    agents = {
        "ada": _agent("ada", kind, ["{item}: done, 4,000 of them."]),
        "ben": _agent("ben", kind, plans),
        "cleo": _agent("cleo", kind, ["{item}: here the rain reads aloud."]),
    }
    items = [
        {"text": "Choose the first books", "role": "librarian"},
        {"text": "Draw the ground floor", "role": "architect"},
        {"text": "Name the reading room", "role": "poet"},
        {"text": "Invite the neighbours"},
    ]
    return _session(
        CollabMode.SWARM,
        title="Opening day",
        purpose="Get the library ready for its opening.",
        agents=agents,
        options={"items": items},
    )


def _people(kind: AgentKind, *names: _Person) -> dict[str, dict[str, Any]]:
    return {name.value: _agent(name.value, kind) for name in names or _ALL}


def _agent(name: str, kind: AgentKind, replies: Sequence[Any] = ()) -> dict[str, Any]:
    """Who plays a person; `replies` are what the scripted twin says instead of its usual lines."""
    if kind == "local":
        return {"agent": name}
    binding: dict[str, Any] = {"agent": f"{name}-scripted"}
    return {**binding, "parameters": {"replies": list(replies)}} if replies else binding


def _session(
    mode: CollabMode,
    *,
    title: str,
    purpose: str,
    agents: Mapping[str, Mapping[str, Any]],
    roles: Mapping[str, str] | None = None,
    stop: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Submission:
    known = {person.value: role for person, role in _ROLES.items()} | dict(roles or {})
    participants = [
        {"participant_id": name, "role_id": known.get(name), "display_name": name.capitalize()}
        for name in agents
    ]
    collab = {"title": title, "purpose": purpose, "mode": mode, "participants": participants}
    return Submission.build(collab, agents=agents, stop=stop, options=options)
