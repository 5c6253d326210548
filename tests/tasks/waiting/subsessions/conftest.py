"""An installation without a broker, whose agents file names sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessions.inline_installation import InlineInstallation
from sessions.panels import AGENTS, COUNTING, PANEL


@pytest.fixture
def make_installation(
    tmp_path: Path, make_installation: Callable[..., InlineInstallation]
) -> Callable[..., InlineInstallation]:
    """Makes installations with the session files of the agents file."""
    (tmp_path / "panel.yaml").write_text(PANEL)
    (tmp_path / "counting.yaml").write_text(COUNTING)

    def make(registry: str = AGENTS, **settings: Any) -> InlineInstallation:
        return make_installation(registry, **settings)

    return make
