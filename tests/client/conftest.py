"""A client of a real server on which no worker runs, unless a test announces one."""

from __future__ import annotations

from pathlib import Path

import pytest

from symposia.client import Client
from symposia.config.settings import load_settings


@pytest.fixture
def client(redis_url: str, tmp_path: Path) -> Client:
    return Client(load_settings(redis_url=redis_url, broker_url=redis_url, data_dir=tmp_path))
