"""Installations with the state of earlier releases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from processes.fork_server import close_fork_server
from upgrades.installation import UpgradeInstallation, empty_installation
from upgrades.releases import RELEASES, wheel_of
from upgrades.versions import Versions, build_today, unpack_versions


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    """The name of a release."""
    return str(request.param)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, release: str) -> Iterator[UpgradeInstallation]:
    """An installation with nothing in it."""
    with empty_installation(tmp_path_factory.mktemp("upgrade")) as installation:
        yield installation


@pytest.fixture(scope="session")
def wheel_of_today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_today(tmp_path_factory.mktemp("today"))


@pytest.fixture(scope="module")
def versions(
    tmp_path_factory: pytest.TempPathFactory, wheel_of_today: Path, release: str
) -> Iterator[Versions]:
    folder = tmp_path_factory.mktemp("versions")
    yield (versions := unpack_versions(wheel_of(release), wheel_of_today, folder))
    for code in (versions.released, versions.today, versions.newer):
        close_fork_server(code)
