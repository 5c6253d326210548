"""The files of the containers as Docker and Compose read them, for tests without a Docker engine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def compose(values: Mapping[str, str]) -> dict[str, Any]:
    """The Compose file with its variables replaced by these values, or their defaults."""

    def value(found: re.Match[str]) -> str:
        name, kind, rest = found.groups()
        if given := values.get(name):
            return given
        if kind == "?":
            raise KeyError(f"{name}: {rest}")
        return rest or ""

    def filled(it: Any) -> Any:
        """Like Compose: variables are replaced in the values, after YAML is read."""
        if isinstance(it, dict):
            return {key: filled(inner) for key, inner in it.items()}
        if isinstance(it, list):
            return [filled(inner) for inner in it]
        return VARIABLE.sub(value, it).replace("$$", "$") if isinstance(it, str) else it

    read: dict[str, Any] = filled(yaml.safe_load(COMPOSE.read_text()))
    return read


def dotenv(path: Path) -> dict[str, str]:
    """The variables of a file such as `.env`, those that are commented out, too."""
    return dict(re.findall(r"^(?:# )?([A-Z_]+)=(\S*)$", path.read_text(), re.MULTILINE))


def copy_build_context(target: Path) -> None:
    """Copy what `.dockerignore` leaves of the checkout: it lists what to keep in the root, and names to drop anywhere."""
    lines = [it for it in (ROOT / ".dockerignore").read_text().splitlines() if it and it[0] != "#"]
    kept = [it.removeprefix("!") for it in lines if it.startswith("!")]
    dropped = [it.removeprefix("**/") for it in lines if it.startswith("**/")]
    assert lines == ["*", *(f"!{it}" for it in kept), *(f"**/{it}" for it in dropped)]
    for path in {path for pattern in kept for path in ROOT.glob(pattern)}:
        if path.is_dir():
            shutil.copytree(path, target / path.name, ignore=shutil.ignore_patterns(*dropped))
        else:
            shutil.copy(path, target)
