"""An office without a broker, whose agents file names sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessions.inline_runtime import InlineRuntime
from sessions.panels import AGENTS, COUNTING, PANEL


@pytest.fixture
def make_office(tmp_path: Path, make_office: Callable[..., InlineRuntime]) -> Callable[..., InlineRuntime]:
    """Makes offices with the session files of the agents file."""
    (tmp_path / "panel.yaml").write_text(PANEL)
    (tmp_path / "counting.yaml").write_text(COUNTING)

    def make(registry: str = AGENTS, **settings: Any) -> InlineRuntime:
        return make_office(registry, **settings)

    return make
