"""Mutants that need no test because they are equivalent: `equivalent.toml` has the reasons."""

from __future__ import annotations

import tomllib
from pathlib import Path

from mutants.mutator import Mutant

TABLE = Path(__file__).with_name("equivalent.toml")


def equivalents() -> dict[tuple[str, str, str], str]:
    """The reason by script, line (its text, not its number) and change."""
    return {
        (script, entry["line"], change): entry["reason"]
        for script, entries in tomllib.loads(TABLE.read_text()).items()
        for entry in entries
        for change in entry["changes"]
    }


def key(mutant: Mutant) -> tuple[str, str, str]:
    """The key of a mutant in the table."""
    return mutant.script, mutant.was, mutant.change
