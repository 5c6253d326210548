"""Services that the tests of outages end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.expendable import Expendable, expendable_services


@pytest.fixture
def services(tmp_path: Path, settings: dict[str, str]) -> Iterator[Expendable]:
    """Services that the test may end."""
    with expendable_services(tmp_path, settings) as services:
        yield services
