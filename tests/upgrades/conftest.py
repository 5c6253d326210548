"""Installations with the state of earlier releases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from upgrades.releases import RELEASES
from upgrades.stage import UpgradeStage, empty_stage


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """The name of a release."""
    return str(request.param)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, release: str) -> Iterator[UpgradeStage]:
    """An installation with nothing in it."""
    with empty_stage(tmp_path_factory.mktemp("upgrade")) as stage:
        yield stage
