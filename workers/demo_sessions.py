"""The five sessions of `symposia demo`: one small story for each mode.

A librarian, an architect and a poet plan a library. With `local` they are played by the
local model; with `scripted` by their twins, who say what stands here, or what
`agents/demo.toml` has for them. Their host and their reviewer follow a script in both: to
decide who speaks next, or that work is good, takes a larger model than the local one.
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


def demo_sessions(kind: AgentKind, only: CollabMode | None = None) -> list[Submission]:
    """The sessions, in the order in which they are shown."""
    stories = [_round_robin, _orchestrated, _pair, _broadcast, _swarm]
    submissions = [story(kind) for story in stories]
    return [it for it in submissions if only is None or it.collab.mode is only]


def _round_robin(kind: AgentKind) -> Submission:
    story = {
        _Person.ADA: (
            "A boy sat between the shelves and read by the exit sign.",
            "I gave him a lamp and a card.",
        ),
        _Person.BEN: ("He had come in through the skylight.", "Since then the skylight is never locked."),
        _Person.CLEO: (
            "The books leaned closer, to hear how they end.",
            "And every night one more window is bright.",
        ),
    }
    agents = {who.value: _agent(who, kind, lines) for who, lines in story.items()}
    return _session(
        CollabMode.ROUND_ROBIN,
        title="A light in the library",
        purpose="Continue the story with one new sentence.",
        agents={who: {**agent, "temperature": 1.0} for who, agent in agents.items()},
        stop={"max_rounds": 2},
        messages=["One night, a light went on in the closed library."],
    )


def _orchestrated(kind: AgentKind) -> Submission:
    return _session(
        CollabMode.ORCHESTRATED,
        title="The host asks",
        purpose="Find out what the new library needs most.",
        agents={"host": {"agent": "host"}, **{who.value: _agent(who, kind) for who in _Person}},
        roles={"host": "orchestrator"},
        stop={"max_rounds": 4},
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
        agents={"cleo": _agent(_Person.CLEO, kind, replies), "reviewer": {"agent": "reviewer"}},
        stop={"max_rounds": 3},
    )


def _broadcast(kind: AgentKind) -> Submission:
    answers = {
        _Person.ADA: ["The one that its last reader could not put down."],
        _Person.BEN: ["A blank one, and a pencil on a string."],
        _Person.CLEO: ["Then put them side by side: one to end the day with, one to begin."],
    }
    return _session(
        CollabMode.BROADCAST,
        title="One question to all",
        purpose="Which single book belongs in every library?",
        agents={who.value: _agent(who, kind, replies) for who, replies in answers.items()},
        options={"aggregator": _Person.CLEO.value},
    )


def _swarm(kind: AgentKind) -> Submission:
    drawn = {
        "say": "{item}: done, around a courtyard.",
        "items": [{"text": "Name the courtyard", "role": "poet"}],
    }
    work: dict[_Person, list[Any]] = {
        _Person.ADA: ["{item}: done, and the cat is on the list."],
        _Person.BEN: [drawn],
        _Person.CLEO: ["{item}: done, without a rhyme."],
    }
    items = [
        {"text": "Draw the ground floor", "role": "architect"},
        {"text": "Choose the first books", "role": "librarian"},
        {"text": "Invite the neighbours"},
    ]
    return _session(
        CollabMode.SWARM,
        title="Opening day",
        purpose="Get the library ready for its opening.",
        agents={who.value: _agent(who, kind, replies) for who, replies in work.items()},
        options={"items": items},
    )


def _agent(who: _Person, kind: AgentKind, replies: Sequence[Any] = ()) -> dict[str, Any]:
    """Who plays a person; `replies` are what the scripted twin says instead of its usual lines."""
    if kind == "local":
        return {"agent": who.value}
    binding: dict[str, Any] = {"agent": f"{who}-scripted"}
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
    messages: Sequence[str] = (),
) -> Submission:
    known = {person.value: role for person, role in _ROLES.items()} | dict(roles or {})
    participants = [
        {"participant_id": name, "role_id": known.get(name), "display_name": name.capitalize()}
        for name in agents
    ]
    collab = {"title": title, "purpose": purpose, "mode": mode, "participants": participants}
    return Submission.build(collab, agents=agents, stop=stop, options=options, messages=messages)
