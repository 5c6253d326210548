"""Reader of a project's own settings of ruff and bandit, as data.

Nothing is executed or imported, and nothing outside the root is read (`extend` is followed only below it).
`settings_files` says which keys are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ...models.errors import InvalidInput
from ..values.runs import SkippedItem
from ..values.tool_settings import RUFF_FILES, Table, ToolSettings, join_below
from .sandboxed_folder import SandboxedFolder
from .settings_files import BANDIT_FILES, read_tables

#: Maximum bytes of a file of settings, characters of all settings as JSON, and modules.
MAX_FILE_BYTES = 262_144
MAX_CHARACTERS = 131_072
MAX_MODULES = 5_000


def read_project_settings(root: Path, paths: Iterable[str | SkippedItem]) -> ToolSettings:
    """Return the settings of the files of a root; `paths`: all files below it that git does not ignore."""
    files = sorted(path for path in paths if isinstance(path, str))
    with SandboxedFolder(root) as folder:
        return _bounded(_Reader(folder, files).settings())


def read_given_settings(files: Sequence[Path], paths: Iterable[str | SkippedItem]) -> ToolSettings:
    """Return the settings of files that the user names, for the whole root.

    Raises:
        InvalidInput: A file cannot be read, or has no table of ruff or bandit.
    """
    ruff: Table | None = None
    bandit: Table | None = None
    python: dict[str, str] = {}
    for file in files:
        try:
            tables = read_tables(file.name, file.read_bytes()[:MAX_FILE_BYTES])
        except OSError as error:
            raise InvalidInput("config", str(file), f"cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise InvalidInput("config", str(file), f"must be valid: {error}") from None
        if "ruff" not in tables and "bandit" not in tables:
            raise InvalidInput("config", str(file), "must have settings of ruff or bandit")
        if "extend" in tables.get("ruff", {}):
            raise InvalidInput("config", str(file), "must not have `extend`: name the other file as well")
        ruff, bandit = tables.get("ruff", ruff), tables.get("bandit", bandit)
        python |= {"": tables["python"]} if "python" in tables else {}
    names = sorted(path for path in paths if isinstance(path, str))
    tree = {} if ruff is None else {"ruff.toml": ruff}
    return ToolSettings(
        ruff=tree,
        bandit={} if bandit is None else {"": bandit},
        python=python,
        modules=_modules(names),
    )


class _Reader:
    """Reader of the files of settings below a root."""

    def __init__(self, root: SandboxedFolder, files: Sequence[str]) -> None:
        self._root = root
        self._files = files
        self._notes: list[SkippedItem] = []
        self._read: dict[str, dict[str, Any]] = {}

    def settings(self) -> ToolSettings:
        """Return all settings."""
        named = {*RUFF_FILES, *BANDIT_FILES}
        for path in self._files:
            if path.rpartition("/")[2] in named:
                self._load(path)
        return ToolSettings(
            ruff=self._ruff_tables(),
            bandit=self._bandit_tables(),
            python={_parent(path): it["python"] for path, it in self._read.items() if "python" in it},
            modules=_modules(self._files),
            notes=tuple(self._notes),
        )

    def _load(self, path: str) -> dict[str, Any]:
        if path not in self._read:
            self._read[path] = {}
            data = self._root.read(path, limit=MAX_FILE_BYTES)
            try:
                self._read[path] = {} if isinstance(data, SkippedItem) else read_tables(_name(path), data)
            except (ValueError, RecursionError) as error:
                self._note(path, f"settings not used: {' '.join(str(error).split())[:200]}")
            if isinstance(data, SkippedItem):
                self._note(path, f"settings not used: {data.reason}")
        return self._read[path]

    def _ruff_tables(self) -> dict[str, Table]:
        """Return the tables of ruff with those that they extend, as far as these are below the root."""
        tables: dict[str, Table] = {}
        waiting = [path for path, it in self._read.items() if "ruff" in it and _name(path) in RUFF_FILES]
        while waiting:
            path = waiting.pop()
            if path in tables or "ruff" not in self._load(path):
                continue
            tables[path] = table = dict(self._read[path]["ruff"])
            if "extend" in table:
                extended = join_below(_parent(path), str(table["extend"]))
                if extended is None or "ruff" not in self._load(extended):
                    self._note(path, "`extend` not used: it must name a file of ruff below the root")
                    del table["extend"]
                else:
                    waiting.append(extended)
        return dict(sorted(tables.items()))

    def _bandit_tables(self) -> dict[str, Table]:
        tables: dict[str, Table] = {}
        for name in BANDIT_FILES:
            for path, it in self._read.items():
                if _name(path) == name and "bandit" in it:
                    tables.setdefault(_parent(path), it["bandit"])
        return tables

    def _note(self, path: str, reason: str) -> None:
        self._notes.append(SkippedItem(path=path, reason=reason))


def _modules(files: Iterable[str]) -> tuple[str, ...]:
    """Return the Python files, those of the upper folders first if there are too many."""
    found = sorted((it for it in files if it.endswith(".py")), key=lambda it: (it.count("/"), it))
    return tuple(found[:MAX_MODULES])


def _bounded(settings: ToolSettings) -> ToolSettings:
    """Return the settings without tables if these are too long to travel with each item."""
    tables = settings.model_dump(mode="json", include={"ruff", "bandit"})
    if len(json.dumps(tables)) <= MAX_CHARACTERS:
        return settings
    note = SkippedItem(
        path=".", reason=f"settings not used: longer than {MAX_CHARACTERS:,} characters in total"
    )
    return settings.model_copy(update={"ruff": {}, "bandit": {}, "notes": (*settings.notes, note)})


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
