"""Fixture `mplp`: the protocol's schemas and files; tests that ask for it are skipped where those are absent."""

from types import ModuleType

import pytest

from protocol import mplp as protocol


@pytest.fixture(scope="session")
def mplp() -> ModuleType:
    if not protocol.SCHEMAS.is_dir():
        pytest.skip(f"the protocol's files are not at {protocol.HOME}; set SYMPOSIA_MPLP_DIR")
    return protocol
