"""Temporary folder in which a program reviews files, with the settings of their project.

The files lie at their paths below the root of the project, so that settings for paths apply. Empty folders and
modules show ruff which imports are the project's own. Without settings of the project, ruff reports what its
own defaults report, and bandit findings of medium severity and above.

Each turn starts a process, so this module imports nothing that is slow to import.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

#: Rules of ruff for a project without settings: ruff's own defaults.
DEFAULT_RULES = ("E4", "E7", "E9", "F")
#: Least severity and confidence of bandit's findings for a project without settings.
DEFAULT_SEVERITY = "medium"
DEFAULT_CONFIDENCE = "low"
#: Name of bandit's settings in the folder.
_BANDIT_FILE = "symposia_bandit.toml"
_MAX_PATH = 1_000
_OWN_KEYS = ("severity", "confidence")


def is_safe_path(path: str) -> bool:
    """Return whether a file of this path can be written below the temporary folder."""
    parts = path.split("/")
    is_plain = path.isprintable() and "\\" not in path and 0 < len(path) <= _MAX_PATH
    return is_plain and all(part not in ("", ".", "..") and len(part.encode()) <= 255 for part in parts)


@contextmanager
def workspace(
    files: Mapping[str, str], settings: Mapping[str, Any], parent: Path | None = None
) -> Iterator[Path]:
    """Yield a temporary folder with files by path (see `is_safe_path`) and settings (`ToolSettings.for_path`).

    `parent`: folder in which it is created; None: the working folder.
    """
    # The folder's name is a valid package name: the findings must depend on the code only.
    with TemporaryDirectory(prefix="code_", dir=parent or Path.cwd()) as name:
        folder = Path(name)
        for path in settings.get("modules") or ():  # folders end with `/`
            _put(folder, path, "")
        for path, table in _tables(settings).items():
            _put(folder, path, to_toml(table))
        for path, text in files.items():
            _put(folder, path, text)
        yield folder


def bandit_options(settings: Mapping[str, Any]) -> list[str]:
    """Return the options by which bandit applies the settings."""
    table = settings.get("bandit") or {}
    levels = [
        f"--severity-level={table.get('severity', DEFAULT_SEVERITY)}",
        f"--confidence-level={table.get('confidence', DEFAULT_CONFIDENCE)}",
    ]
    return [*levels, f"--configfile={_BANDIT_FILE}"] if table else levels


def _tables(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the files of settings: path and content."""
    files: dict[str, dict[str, Any]] = {}
    for path, table in (settings.get("ruff") or {}).items():
        files[path] = {"tool": {"ruff": table}} if PurePosixPath(path).name == "pyproject.toml" else table
    if not files:
        # Without it, ruff would use a file above this folder, or the user's.
        files["pyproject.toml"] = {"tool": {"ruff": {"lint": {"select": list(DEFAULT_RULES)}}}}
    for folder, version in (settings.get("python") or {}).items():
        path = f"{folder}/pyproject.toml" if folder else "pyproject.toml"
        files.setdefault(path, {})["project"] = {"requires-python": version}
    if bandit := settings.get("bandit"):
        plain = {key: value for key, value in bandit.items() if key not in _OWN_KEYS}
        files[_BANDIT_FILE] = {"tool": {"bandit": plain}}
    return files


def _put(folder: Path, path: str, text: str) -> None:
    """Write a file below the folder, or create a folder. A path that is not safe is left out."""
    if not is_safe_path(path.removesuffix("/")):
        return
    target = folder / path
    if path.endswith("/"):
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="")


def to_toml(table: Mapping[str, Any]) -> str:
    """Return a table as TOML, one key per line, with inline tables."""
    return "".join(f"{_text(key)} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_text(key)} = {_value(entry)}' for key, entry in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    """Return a basic string of TOML: that of JSON, except for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
