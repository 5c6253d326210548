"""Parser of the files in which a project keeps its settings of ruff and bandit. Pure.

Only keys that choose and parametrise rules are taken. Keys that name programs, outputs or caches, and those
that change files, are dropped.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as IniError
from typing import Any

import yaml

from ..values.tool_settings import Table

#: Names of bandit's configuration files; the first in a folder counts.
BANDIT_FILES = ("bandit.yaml", "bandit.yml", "bandit.toml", "pyproject.toml", ".bandit")
_MAX_DEPTH = 5

_RULE_KEYS = frozenset(
    [
        "select",
        "ignore",
        "extend-select",
        "extend-ignore",
        "per-file-ignores",
        "extend-per-file-ignores",
        "external",
        "task-tags",
        "typing-modules",
        "allowed-confusables",
        "dummy-variable-rgx",
        "explicit-preview-rules",
        "logger-objects",
        "preview",
        "ignore-init-module-imports",
        "future-annotations",
        "typing-extensions",
        "isort",
        "mccabe",
        "pep8-naming",
        "pycodestyle",
        "pydocstyle",
        "pydoclint",
        "pyflakes",
        "pylint",
        "pyupgrade",
        "ruff",
    ]
)
_RUFF_KEYS = _RULE_KEYS | frozenset(
    [
        "extend",
        "lint",
        "line-length",
        "indent-width",
        "target-version",
        "per-file-target-version",
        "builtins",
        "namespace-packages",
        "src",
        "exclude",
        "extend-exclude",
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
        found = _yaml(text)
        return {"bandit": _bandit(found)} if isinstance(found, dict) else {}
    if name == ".bandit":
        return _ini(text)
    found = tomllib.loads(text)
    tool = found.get("tool")
    if not isinstance(tool, dict):
        tool = {}
    if name not in ("pyproject.toml", "bandit.toml") and not ("ruff" in tool or "bandit" in tool):
        return {"ruff": _ruff(found)}
    tables: dict[str, Any] = {}
    if isinstance(tool.get("ruff"), dict):
        tables["ruff"] = _ruff(tool["ruff"])
    if isinstance(tool.get("bandit"), dict):
        tables["bandit"] = _bandit(tool["bandit"])
    project = found.get("project")
    if isinstance(project, dict) and isinstance(project.get("requires-python"), str):
        tables["python"] = project["requires-python"][:200]
    return tables


def _yaml(text: str) -> Any:
    try:
        if any(isinstance(it, yaml.AliasEvent) for it in yaml.parse(text, Loader=yaml.SafeLoader)):
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
    lists = {key: [it.strip() for it in value.split(",") if it.strip()] for key, value in table.items()}
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
        return [_plain(it, depth + 1) for it in value]
    if isinstance(value, dict):
        return {str(key): _plain(it, depth + 1) for key, it in value.items()}
    raise ValueError(f"{value!r:.50} is not a text, number, list or table")
