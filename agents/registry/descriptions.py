"""Descriptions of registered agents, for lists."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from ...models.turns.waiting import WaitPolicy
from ..llm.entries import LLMEntry
from ..objects import ObjectEntry
from ..programs.agent import CommandEntry, readable_argv
from ..remote.entry import ExternalEntry
from ..sessions import SessionEntry
from .agent_factory import Entry
from .agents_file import HumanEntry, PythonEntry, ScriptedEntry


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """Description of a registered agent."""

    name: str
    kind: str
    #: Its model, callable, number of replies, command line, host or waiting time.
    what: str
    built_in: bool


def _format_wait(policy: WaitPolicy) -> str:
    if policy.deadline_s is None:
        return "no deadline"
    return f"{policy.deadline_s:g} s, then {policy.then}"


def entry_detail(entry: Entry) -> str:
    """Return the detail that distinguishes an entry from others of its kind, such as its model."""
    match entry:
        case LLMEntry():
            return entry.model
        case PythonEntry():
            return entry.callable
        case ScriptedEntry():
            return f"{len(entry.replies)} replies"
        case CommandEntry():
            return readable_argv(entry.argv)
        case ExternalEntry():
            return urlsplit(entry.url).hostname or ""
        case HumanEntry():
            return _format_wait(entry)
        case ObjectEntry() | SessionEntry():
            return entry.what
