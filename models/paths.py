"""Paths as a person writes them: `~` and `~name` are home folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError(f"{path.parts[0]} must be the home folder of somebody known here") from None


#: A path with its home folder in place. What stands before the first slash is told when nobody is called that.
ExpandedPath = Annotated[Path, AfterValidator(_expanded)]
