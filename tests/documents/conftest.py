"""An installation as a page takes it for granted, and its reader's terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from documents.files import write_files
from processes.terminal import Terminal
from processes.terminal_with_worker import terminal_with_worker
from servers.model_stub import StubModel


@pytest.fixture(scope="module")
def model() -> Iterator[StubModel]:
    """A server of a model."""
    with StubModel() as stub:
        yield stub


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """The files of the working folder; modules replace it."""
    return {}


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    """More environment variables; modules replace it."""
    return {}


@pytest.fixture(scope="module")
def terminal(
    files: dict[str, str], variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal]:
    """A terminal with a Redis, an archive and a worker, in a folder with the files.

    Programs of the folder `bin` in it are on the search path.
    """
    folder = tmp_path_factory.mktemp("installation")
    write_files(folder, files)
    settings = {
        "data_dir": str(folder / "data"),
        "archive": "true",
        "archive_interval_s": "0.2",
        "sweep_interval_s": "0.2",
        "worker_processes": "1",
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
        for name, value in variables.items():
            environment.setenv(name, value)
        with terminal_with_worker(folder, settings) as terminal:
            yield terminal
