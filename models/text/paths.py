"""Files that people name: paths as they write them (`~` and `~name` are home folders), private folders, files of
other users, and the content of TOML files.
"""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

#: Characters of a path: what Linux takes.
MAX_PATH = 4_096


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError(f"must name the home folder of an existing user (got {path.parts[0]})") from None


#: A path with `~` expanded. An unknown user is refused; the message shows only the part before the first slash.
ExpandedPath = Annotated[Path, AfterValidator(_expanded)]


def is_of_other_user(file: Path) -> bool:
    """Return whether a file belongs to another user than that of this process and the administrator.

    Raises:
        OSError: The file cannot be read.
    """
    return file.lstat().st_uid not in (0, os.geteuid())


def may_be_planted(file: Path) -> bool:
    """Return whether another user may have left a file in a folder that all users may write, such as `/tmp`.

    Raises:
        OSError: The file or its folder cannot be read.
    """
    return is_of_other_user(file) and (all_may_write(file) or all_may_write(file.absolute().parent))


def all_may_write(path: Path) -> bool:
    """Return whether every user of this machine may write a file or folder.

    Raises:
        OSError: It cannot be read.
    """
    return bool(path.stat().st_mode & stat.S_IWOTH)


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, each with access for this user only (mode 0700).

    The mode of a folder that exists stays as it is.

    Args:
        folder: The folder that must exist afterwards.

    Raises:
        OSError: A folder cannot be created, or the path names something else.
    """
    missing = [parent for parent in folder.parents if not parent.exists()]
    for path in (*reversed(missing), folder):
        path.mkdir(mode=0o700, exist_ok=True)


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
