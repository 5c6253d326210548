"""Checks of the sessions in an agents file: their files, their depth, and cycles between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ...models.errors import InvalidInput, RegistryError
from ...models.sessions.submission import Submission
from ...models.sessions.subsession_limits import TOO_DEEP
from ..llm.entries import LLMEntry
from ..sessions import SessionEntry, SessionFiles

#: Rule that is broken in a process without a reader of session files.
_NOT_READ = "cannot be used here"


def read_session_files(path: Path, data: dict[str, Any], session_files: SessionFiles | None) -> None:
    """Put the content of each session file into its table of the parsed agents file.

    Raises:
        RegistryError: A session file breaks a rule.
    """
    tables = data.get("agents")
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if not isinstance(table, dict) or table.get("kind") != "session":
            continue
        entry = f"agents.{name}"
        if "document" in table:
            raise RegistryError(
                str(path), entry=entry, field="document", rule="must not be set: name a `file`"
            )
        if not isinstance(file := table.get("file"), str):
            continue  # reported by the check of the fields
        if session_files is None:
            raise RegistryError(str(path), entry=entry, field="kind", rule=_NOT_READ)
        try:
            document = session_files.read(path.parent / file)
            Submission.of_subsession(document, file)
        except InvalidInput as error:
            raise RegistryError(str(path), entry=entry, field="file", rule=str(error)) from None
        table["document"] = document


def agents_inside(entry: object, entries: Mapping[str, object]) -> Sequence[str]:
    """Return the agents of the session of an entry, or the sessions that a model may call; none in other entries."""
    if isinstance(entry, SessionEntry):
        return entry.agents_in_use
    if isinstance(entry, LLMEntry):
        return [it for it in entry.tools if isinstance(entries.get(it), SessionEntry)]
    return ()


@dataclass(frozen=True, slots=True)
class _Nesting:
    """The agents of a file, as they contain each other."""

    path: Path
    entries: Mapping[str, object]
    max_depth: int

    def visit(self, name: str, above: tuple[str, ...]) -> None:
        """Check an agent and all that it contains; `above`: the agents that contain it, the outermost first."""
        chain = (*above, name)
        if name in above:
            self._refuse(chain, f"must not contain itself: {' -> '.join(chain[chain.index(name) :])}")
        if sum(isinstance(self.entries.get(it), SessionEntry) for it in chain) > self.max_depth:
            self._refuse(chain, f"{TOO_DEEP}: {' -> '.join(chain)}")
        for used in agents_inside(self.entries.get(name), self.entries):
            self.visit(used, chain)

    def _refuse(self, chain: tuple[str, ...], rule: str) -> NoReturn:
        raise RegistryError(str(self.path), entry=f"agents.{chain[0]}", field="file", rule=rule)


def check_nesting(path: Path, entries: Mapping[str, object], *, max_depth: int) -> None:
    """Check that no session contains itself, directly or through other agents, or is nested too deep.

    Raises:
        RegistryError: The first such session.
    """
    nesting = _Nesting(path, entries, max_depth)
    for name, entry in entries.items():
        if isinstance(entry, SessionEntry):
            nesting.visit(name, ())
