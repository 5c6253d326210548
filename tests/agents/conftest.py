"""What agents are tested with: turns, a runner, a model server that errs on demand, the local model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from servers.model_stub import StubModel
from sessions.turns_of_agents import message, runner, turn
from symposia.agents.local_model.server import LocalModelServer, find_weights, require_engine
from symposia.models.errors import LocalModelError

__all__ = ["message", "runner", "turn"]


@pytest.fixture
def model() -> Iterator[StubModel]:
    with StubModel() as stub:
        yield stub


@pytest.fixture(scope="session")
def local_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalModelServer]:
    try:
        find_weights()
        require_engine()
    except LocalModelError as missing:
        pytest.skip(str(missing))
    with LocalModelServer(tmp_path_factory.mktemp("local-model")) as server:
        yield server
