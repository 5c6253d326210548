"""Entries of an agents file: models, and agents of three kinds.

    [models.house]                       # an endpoint that several agents share
    model = "qwen3-8b"
    base_url = "http://localhost:8000/v1"
    api_key_env = "HOUSE_KEY"            # the variable's name, never the key

    [agents.coder]
    kind = "llm"
    model = "house"                      # or any model pydantic-ai knows: "anthropic:claude-..."
    instructions = "You write Python."

    [agents.linter]
    kind = "python"
    callable = "my_project.agents:lint"

    [agents.greeter]
    kind = "scripted"
    replies = ["Hello, {last}", { pass = true }]

Only this file names code, environment variables and URLs; a job never does.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...models.sessions.options import AgentName
from ...models.turns.waiting import WaitPolicy
from ..entry_base import CallablePath, EntryBase, Window
from ..llm.entries import LLMEntry, ModelTables
from ..programs.entry import CommandEntry
from ..remote.entry import ExternalEntry, Webhooks
from ..scripted import AtEnd, ScriptedReply


class PythonEntry(EntryBase):
    """`[agents.NAME] kind = "python"`."""

    kind: Literal["python"]
    #: `module:name` of a sync or async callable.
    callable: CallablePath
    window: Window = 100


class ScriptedEntry(EntryBase):
    """`[agents.NAME] kind = "scripted"`; a binding's parameter `replies` goes before these."""

    kind: Literal["scripted"]
    replies: tuple[ScriptedReply, ...] = Field(default=(), max_length=10_000)
    at_end: AtEnd = AtEnd.REPEAT
    #: None: as many as the replies need.
    window: Window | None = None


class HumanEntry(EntryBase, WaitPolicy):
    """`[agents.NAME] kind = "human"`: a person who answers when they can; a binding's `wait` goes before this one."""

    kind: Literal["human"]
    #: Maximum number of messages shown to a substitute.
    window: Window = 100


AgentEntry = Annotated[
    LLMEntry | PythonEntry | ScriptedEntry | CommandEntry | HumanEntry | ExternalEntry,
    Field(discriminator="kind"),
]


class AgentsFile(ModelTables):
    """A whole agents file."""

    webhooks: Webhooks = Webhooks()
    agents: dict[AgentName, AgentEntry] = Field(default_factory=dict)
