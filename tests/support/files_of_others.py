"""Files that belong to another user than that of the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

#: A user without files on most machines.
_OTHER = 65_534


def give_to_other_user(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a file to another user; only the administrator can, others become another user for the program."""
    if os.geteuid() == 0:
        os.chown(file, _OTHER, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: _OTHER)
