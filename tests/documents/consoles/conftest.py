"""What the pages take for granted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.installation import Installation, installed


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Installation]:
    """An installation with a worker."""
    with installed(tmp_path) as place:
        yield place
