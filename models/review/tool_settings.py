"""Settings of the reviewed project for ruff and bandit, as data: they travel with each item.

The files of the project are read where the batch starts (`reviews.sources.project_settings`). The program of
an item gets what concerns the item: the nearest tables, and names by which ruff tells the project's own
modules from installed ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from pydantic import Field, JsonValue

from ..protocol.base import Text
from ..turns.turn import Frozen
from .runs import SkippedItem

#: A table of settings.
Table = dict[str, JsonValue]
#: Names of ruff's configuration files; the first in a folder counts.
RUFF_FILES = (".ruff.toml", "ruff.toml", "pyproject.toml")


class ToolSettings(Frozen):
    """Settings found below a root. Paths are relative to the root; the root itself is the empty path."""

    #: Tables of ruff by the path of their file.
    ruff: dict[str, Table] = Field(default_factory=dict)
    #: Tables of bandit by folder.
    bandit: dict[str, Table] = Field(default_factory=dict)
    #: `requires-python` of projects by folder.
    python: dict[str, Text] = Field(default_factory=dict)
    #: Folders with an `__init__.py`.
    packages: tuple[Text, ...] = ()
    #: By folder with a table of ruff, and for the root: what is importable there. Folders end with `/`.
    modules: dict[str, tuple[Text, ...]] = Field(default_factory=dict)
    #: Files of settings that are not used, and why.
    notes: tuple[SkippedItem, ...] = ()

    def for_path(self, path: str) -> Table:
        """Return the settings that concern one file, in the form of the session parameter."""
        files = self._ruff_chain(path)
        nearest = next(iter(files), "")
        packages = set(self.packages)
        return {
            "ruff": {name: self.ruff[name] for name in files},
            "bandit": _nearest(self.bandit, path) or {},
            "python": {folder: self.python[folder] for folder in _folders(path) if folder in self.python},
            "packages": [folder for folder in _folders(path) if folder in packages],
            "modules": list(self.modules.get(_parent(nearest), ())),
        }

    @property
    def is_used(self) -> bool:
        """Return whether there is anything for the programs."""
        return bool(self.ruff or self.bandit or self.python or self.packages or any(self.modules.values()))

    @property
    def sha(self) -> str:
        """16 hexadecimal digits that change with the settings."""
        return hashlib.sha256(self.model_dump_json(exclude={"notes"}).encode()).hexdigest()[:16]

    def _ruff_chain(self, path: str) -> list[str]:
        """Return the nearest file of ruff and those that it extends, the nearest first."""
        names = (
            f"{folder}/{name}" if folder else name for folder in _folders(path) for name in RUFF_FILES
        )
        chain: list[str] = []
        current = next((name for name in names if name in self.ruff), None)
        while current in self.ruff and current not in chain:
            chain.append(current)
            extended = self.ruff[current].get("extend")
            current = join_below(_parent(current), extended) if isinstance(extended, str) else None
        return chain


def join_below(folder: str, path: str) -> str | None:
    """Return a path relative to `folder` as one relative to the root; None: it leads out of the root."""
    if path.startswith(("/", "~", "$")) or "\0" in path or "\\" in path:
        return None
    parts: list[str] = []
    for part in [*folder.split("/"), *path.split("/")]:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _folders(path: str) -> Iterator[str]:
    """Yield the folders of a file, the nearest first, the root last."""
    for folder in PurePosixPath(path).parents:
        yield "" if str(folder) == "." else str(folder)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _nearest(tables: Mapping[str, Table], path: str) -> Table | None:
    return next((tables[folder] for folder in _folders(path) if folder in tables), None)
