"""Reader of a project's own settings of ruff and bandit, as data.

Nothing is executed or imported, and nothing outside the root is read (`extend` is followed only below it). Only keys
that choose and parametrise rules are taken. Keys that name programs, outputs or caches, and those that change files,
are dropped.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as IniError
from pathlib import Path
from typing import Any

import yaml

from ...models.errors import InvalidInput
from ..values.runs import SkippedItem
from ..values.tool_settings import RUFF_FILES, Table, ToolSettings, join_below
from .sandboxed_folder import SandboxedFolder

#: Names of bandit's configuration files; the first in a folder counts.
BANDIT_FILES = ("bandit.yaml", "bandit.yml", "bandit.toml", "pyproject.toml", ".bandit")
_MAX_DEPTH = 5

_RULE_KEYS = frozenset(
    [
        *("select", "ignore", "extend-select", "extend-ignore", "per-file-ignores"),
        *("extend-per-file-ignores", "external", "task-tags", "typing-modules", "allowed-confusables"),
        *("dummy-variable-rgx", "explicit-preview-rules", "logger-objects", "preview"),
        *("ignore-init-module-imports", "future-annotations", "typing-extensions", "isort", "mccabe"),
        *("pep8-naming", "pycodestyle", "pydocstyle", "pydoclint", "pyflakes", "pylint", "pyupgrade"),
        *("ruff",),
    ]
)
_RUFF_KEYS = _RULE_KEYS | frozenset(
    [
        *("extend", "lint", "line-length", "indent-width", "target-version", "per-file-target-version"),
        *("builtins", "namespace-packages", "src", "exclude", "extend-exclude"),
    ]
)
#: Numbers of bandit's INI file (`level = 2` is `-ll`).
_LEVELS = {"1": "low", "2": "medium", "3": "high"}
_LEVEL_KEYS = ("severity", "confidence")
_LIST_KEYS = ("skips", "tests", "exclude_dirs")


def read_tables(name: str, data: bytes) -> dict[str, Any]:
    """Return the safe tables of a file: `ruff`, `bandit` and `python`, if it has them.

    Raises:
        ValueError: The file is not valid.
    """
    text = data.decode("utf-8-sig")
    if name.endswith((".yaml", ".yml")):
        content = _yaml(text)
        return {"bandit": _bandit(content)} if isinstance(content, dict) else {}
    if name == ".bandit":
        return _ini(text)
    content = tomllib.loads(text)
    tool = content.get("tool")
    if not isinstance(tool, dict):
        tool = {}
    if name not in ("pyproject.toml", "bandit.toml") and not ("ruff" in tool or "bandit" in tool):
        return {"ruff": _ruff(content)}
    tables: dict[str, Any] = {}
    if isinstance(tool.get("ruff"), dict):
        tables["ruff"] = _ruff(tool["ruff"])
    if isinstance(tool.get("bandit"), dict):
        tables["bandit"] = _bandit(tool["bandit"])
    project = content.get("project")
    if isinstance(project, dict) and isinstance(project.get("requires-python"), str):
        tables["python"] = project["requires-python"][:200]
    return tables


def _yaml(text: str) -> Any:
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise ValueError("aliases are not read")  # a short text can stand for billions of values
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(error) from None


def _ini(text: str) -> dict[str, Any]:
    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except IniError as error:
        raise ValueError(error.message) from None
    if not parser.has_section("bandit"):
        return {}
    given = dict(parser["bandit"])
    table: dict[str, Any] = {key: given[key] for key in ("skips", "tests") if key in given}
    if "exclude" in given:
        table["exclude_dirs"] = given["exclude"]
    lists = {key: [part.strip() for part in value.split(",") if part.strip()] for key, value in table.items()}
    severity = given.get("severity") or _LEVELS.get(given.get("level", ""), "")
    confidence = _LEVELS.get(given.get("confidence", ""), given.get("confidence", ""))
    return {"bandit": _bandit({**lists, "severity": severity, "confidence": confidence})}


def _ruff(given: Mapping[str, Any]) -> Table:
    table = _safe(given, _RUFF_KEYS)
    lint = given.get("lint")
    if isinstance(lint, dict):
        table["lint"] = _safe(lint, _RULE_KEYS)
    return table


def _safe(given: Mapping[str, Any], keys: frozenset[str]) -> Table:
    safe = keys - {"lint"}
    return {key: _plain(value) for key, value in given.items() if key in safe or key.startswith("flake8-")}


def _bandit(given: Mapping[Any, Any]) -> Table:
    """Return lists of rules and folders, levels, and the options of single tests (tables of plain values)."""
    table: Table = {}
    for key, value in given.items():
        if (key in _LIST_KEYS and isinstance(value, list)) or (
            isinstance(key, str) and key.replace("_", "").isalnum() and isinstance(value, dict)
        ):
            table[key] = _plain(value)
        elif key in _LEVEL_KEYS and str(value).lower() in _LEVELS.values():
            table[key] = str(value).lower()
    return table


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a value of texts, numbers, lists and tables.

    Raises:
        ValueError: It has other or too deeply nested values.
    """
    if isinstance(value, str | bool | int) or (isinstance(value, float) and value == value):
        return value
    if depth >= _MAX_DEPTH:
        raise ValueError("too deeply nested")
    if isinstance(value, list):
        return [_plain(entry, depth + 1) for entry in value]
    if isinstance(value, dict):
        return {str(key): _plain(entry, depth + 1) for key, entry in value.items()}
    raise ValueError(f"{value!r:.50} is not a text, number, list or table")


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
        ruff=tree, bandit={} if bandit is None else {"": bandit}, python=python, modules=_modules(names)
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
            python={
                _parent(path): file_tables["python"]
                for path, file_tables in self._read.items()
                if "python" in file_tables
            },
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
        waiting = [
            path
            for path, file_tables in self._read.items()
            if "ruff" in file_tables and _name(path) in RUFF_FILES
        ]
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
            for path, file_tables in self._read.items():
                if _name(path) == name and "bandit" in file_tables:
                    tables.setdefault(_parent(path), file_tables["bandit"])
        return tables

    def _note(self, path: str, reason: str) -> None:
        self._notes.append(SkippedItem(path=path, reason=reason))


def _modules(files: Iterable[str]) -> tuple[str, ...]:
    """Return the Python files, those of the upper folders first if there are too many."""
    paths = sorted((path for path in files if path.endswith(".py")), key=lambda path: (path.count("/"), path))
    return tuple(paths[:MAX_MODULES])


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
