"""Reading of TOML files that people wrote: a limited size, and every problem as one rule."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

#: Maximum size of a file in bytes, unless the caller has another limit.
MAX_BYTES = 1024 * 1024


class TomlFileError(ValueError):
    """A file cannot be read as TOML; `rule` is what the file must be, for the error of the caller."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


def read_toml(path: Path, *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Return the content of a TOML file.

    Args:
        path: The file.
        max_bytes: Maximum size; no more than this is read.

    Raises:
        TomlFileError: The file cannot be read, is too large, or is not valid TOML.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(max_bytes + 1)
    except OSError as error:
        raise TomlFileError(f"cannot be read: {error.strerror}") from None
    if len(raw) > max_bytes:
        raise TomlFileError(f"must be at most {max_bytes} bytes")
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))  # some editors begin a file with a byte order mark
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TomlFileError(f"must be valid TOML: {error}") from None
    except RecursionError:
        raise TomlFileError("must be valid TOML: nested too deeply") from None
