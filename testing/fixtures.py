"""Fixtures of pytest: `symposia` runs the sessions of the code under test in the process of the test.

pytest finds them by the entry point of this package. They need no worker, no server and no model:

    def test_review_is_started(client, symposia):
        symposia.register("ann", replies=["Looks good."])
        client.post("/reviews", {"text": "..."})
        [job] = symposia.jobs()
        assert job.result(timeout=5).dialog.messages[-1].content == "Looks good."

pytest imports this module in every project with Symposia, so it imports nothing else before a test asks for a fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .in_process import TestInstallation


@pytest.fixture(scope="session")
def symposia_server() -> Iterator[str]:
    """Yield the URL of an embedded server of this process, which ends with the tests."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from ..client.in_process.server import run_server

    with TemporaryDirectory(prefix="symposia-") as folder, run_server(Path(folder)) as url:
        yield url


@pytest.fixture
def symposia_settings() -> dict[str, Any]:
    """Return settings of the installation by name, in the place of those of the process; redefine it to have some."""
    return {}


@pytest.fixture
def symposia(symposia_server: str, symposia_settings: dict[str, Any]) -> Iterator[TestInstallation]:
    """Yield an installation that runs the sessions of this process while the test runs; nothing is in it."""
    from .in_process import run_in_process

    with run_in_process(symposia_server, **symposia_settings) as installation:
        yield installation
