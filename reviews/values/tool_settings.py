"""Settings of the reviewed project for ruff and bandit, as data: they travel with each item.

The files of the project are read where the batch starts (`reviews.sources.project_settings`). The program of
an item gets the part for its path: the nearest tables, and names by which ruff distinguishes the project's
own modules from installed ones.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from pathlib import PurePosixPath

from pydantic import Field, JsonValue

from ...models.protocol.base import Text
from ...models.turns.frozen import Frozen
from .runs import SkippedItem

#: Words after `from` and `import`, also in a text with line numbers, and the names of modules in them.
_IMPORT = re.compile(r"\b(?:from|import)[ \t]+([\w., \t]+)")
_NAME = re.compile(r"[^\W\d][\w.]*\w|[^\W\d]")

#: Characters of a dotted name; modules with a longer one are not passed to ruff.
MAX_NAME = 200
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
    #: Modules of the project: paths of Python files.
    modules: tuple[Text, ...] = ()
    #: Files of settings that are not used, and why.
    notes: tuple[SkippedItem, ...] = ()

    def for_path(self, path: str, text: str) -> Table:
        """Return the settings that concern one file, in the form of the session parameter.

        `text`: text of the file, or a message that contains it. Of the project's modules, those are returned
        that it may import.
        """
        files = self._ruff_chain(path)
        folders = list(_folders(path))
        modules = frozenset(self.modules)
        packages = [f"{folder}/__init__.py" if folder else "__init__.py" for folder in folders]
        imported = self._imported(text, frozenset(self._sources(files)))
        return {
            "ruff": {name: self.ruff[name] for name in files},
            "bandit": next((self.bandit[folder] for folder in folders if folder in self.bandit), {}),
            "python": {folder: self.python[folder] for folder in folders if folder in self.python},
            "modules": [
                module
                for module in dict.fromkeys([*packages, *imported])
                if module.endswith("/") or module in modules
            ],
        }

    def _sources(self, files: Sequence[str]) -> list[str]:
        """Return the folders from which ruff resolves imports, by the nearest table that names any."""
        for name in files:
            given = self.ruff[name].get("src")
            if isinstance(given, list):
                joined = [join_below(_parent(name), entry) for entry in given if isinstance(entry, str)]
                return [path for path in joined if path is not None]
        folder = _parent(next(iter(files), ""))
        return [path for path in (folder, join_below(folder, "src")) if path is not None]

    def _imported(self, text: str, sources: Set[str]) -> Iterator[str]:
        """Yield files and folders (ended by `/`) to which imports in the text may refer."""
        names = {name for imported in _IMPORT.findall(text) for name in _NAME.findall(imported)}
        for name in sorted(names):
            for path, start in self._places_by_name.get(name, ()):
                if path[: max(start - 1, 0)] in sources:
                    yield path

    @cached_property
    def _places_by_name(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        """Modules and folders by each name that they may be imported by, with the index where the name begins.

        Built once from what exists: names of a text times `src` of the settings may be millions.
        """
        folders = {f"{folder}/" for module in self.modules for folder in _folders(module) if folder}
        places: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for path in sorted({*self.modules, *folders}):
            for name, start in _names_of(path):
                places[name].append((path, start))
        return places

    @property
    def is_used(self) -> bool:
        """Return whether there is anything for the programs."""
        return bool(self.ruff or self.bandit or self.python or self.modules)

    def sha_for_path(self, path: str, text: str) -> str:
        """Return 16 hexadecimal digits that change with what concerns a file; empty: there is nothing."""
        if not self.is_used:
            return ""
        content = json.dumps(self.for_path(path, text), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def _ruff_chain(self, path: str) -> list[str]:
        """Return the nearest file of ruff and those that it extends, the nearest first."""
        names = (f"{folder}/{name}" if folder else name for folder in _folders(path) for name in RUFF_FILES)
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


def _names_of(module_path: str) -> Iterator[tuple[str, int]]:
    """Yield the names by which a module or folder may be imported, with the index where each begins."""
    for ending in (".py", "/__init__.py", "/"):
        if not module_path.endswith(ending):
            continue
        path = module_path.removesuffix(ending)
        start = len(path)
        while start > 0 and len(path) - start <= MAX_NAME:
            start = path.rfind("/", 0, start - 1) + 1
            name = path[start:]
            if "." in name or len(name) > MAX_NAME:
                break
            yield name.replace("/", "."), start


def _folders(path: str) -> Iterator[str]:
    """Yield the folders of a file, the nearest first, the root last."""
    for folder in PurePosixPath(path).parents:
        yield "" if str(folder) == "." else str(folder)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
