"""The beginning of every request of a batch: guide, rules and map, and how much room they have. Pure but for the project.

The rooms do not depend on what is shown there, so that an item is split in the same way when the map changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ...models.sessions.known_agents import ReaderModel
from ..values.panels import Panel, smallest_window
from .guide import SHORT_GUIDE, change_guide, document_guide, file_guide, small_change_guide
from .project import Project

#: Share of a model's window for guide and opening message; the rest is for the messages of the session.
_OPENING_SHARE = 0.75
#: Share of that for the guide.
_GUIDE_SHARE = 0.3
#: Maximum bytes of the map of the project: the same for all items of a batch, so that providers have it in their cache.
#: A change, which is a few requests, has callers and signatures instead.
MAX_MAP_BYTES = 65_536
#: Maximum bytes of the rules of the project in the guide for a change.
_MAX_CHANGE_RULES_BYTES = 4_096
_BYTES_PER_TOKEN = 4
_MAP_TITLE = (
    "Files of the project, with their functions and classes; the most imported ones if they are many:"
)
#: Agents of panels that review documents.
DOCUMENT_AGENTS = frozenset({"clarity", "consistency", "facts"})
#: The agent that sums up the findings of a panel.
JUDGE = "judge"


@dataclass(frozen=True)
class RequestGuide:
    """What all models of a panel are shown first. At least one model is required."""

    panel: Panel
    readers: Mapping[str, ReaderModel]
    project: Project
    is_change: bool

    @cached_property
    def text(self) -> str:
        """Guide, rules and map."""
        has_map = not self.is_change and not self._is_of_documents
        room = min(self.guide_room - len(self.rules.encode()), MAX_MAP_BYTES) if has_map else 0
        shown = self.project.map(room) if room > 0 else ""
        return "\n\n".join(filter(None, (self.rules, f"{_MAP_TITLE}\n{shown}" if shown else "")))

    @cached_property
    def small_text(self) -> str:
        """What models are shown first of a small change: a shorter guide, and the rules of the project."""
        if not self.is_change or self._is_of_documents:
            return self.text
        return self._with_rules(small_change_guide(self._programs, self.panel.read_files))

    @cached_property
    def rules(self) -> str:
        """What counts as a finding, and the rules of the project."""
        return self._with_rules(self._guide)

    def _with_rules(self, guide: str) -> str:
        if len(guide.encode()) > self.guide_room:
            guide = SHORT_GUIDE
        room = max(self.guide_room - len(guide.encode()), 0)
        if self.is_change:
            room = min(room, _MAX_CHANGE_RULES_BYTES)
        rules = self.project.rules.encode()[:room].decode(errors="ignore")
        return "\n\n".join(filter(None, (guide, rules)))

    @cached_property
    def room(self) -> int:
        """Bytes for guide and opening message."""
        return int(smallest_window(self.readers) * _OPENING_SHARE) * _BYTES_PER_TOKEN

    @cached_property
    def guide_room(self) -> int:
        """Bytes for the guide."""
        return max(int(self.room * _GUIDE_SHARE), len(SHORT_GUIDE.encode()))

    @property
    def _guide(self) -> str:
        if self._is_of_documents:
            return document_guide(self.panel.read_files, is_change=self.is_change)
        guide = change_guide if self.is_change else file_guide
        return guide(self._programs, self.panel.read_files)

    @property
    def _programs(self) -> list[str]:
        """Agents of the panel that are programs."""
        seated = (seat.agent for seat in self.panel.seats if seat.name not in self.readers)
        agents = [*(tool.agent for tool in self.panel.tools), *(agent for agent in seated if agent)]
        return [agent for agent in agents if agent != JUDGE]

    @property
    def _is_of_documents(self) -> bool:
        return not DOCUMENT_AGENTS.isdisjoint(self.panel.agents)
