"""A terminal whose worker the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from processes.terminal import Terminal
from processes.terminal_with_worker import terminal_with_worker

CLEAN = "print('hello')\n"


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal with a Redis, an archive and a worker that the tests of this module share."""
    folder = tmp_path_factory.mktemp("worked")
    settings = {"data_dir": str(folder / "data"), "archive": "true"}
    settings |= {"sweep_interval_s": "0.2", "redispatch_after_s": "2"}
    (folder / "data").mkdir()
    with terminal_with_worker(folder, settings) as terminal:
        yield terminal


@pytest.fixture
def project(worked: Terminal, request: pytest.FixtureRequest) -> Path:
    """A folder of the test's own with a clean file in it."""
    folder = worked.folder / request.node.name.partition("[")[0]
    folder.mkdir(exist_ok=True)
    (folder / "clean.py").write_text(CLEAN)
    return folder
