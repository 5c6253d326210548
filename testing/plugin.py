"""Pytest plugin that forbids requests to real models, except in tests with the mark `real_models`.

    # conftest.py
    pytest_plugins = ["symposia.testing.plugin"]

    @pytest.mark.real_models
    def test_against_the_real_thing(): ...

Scripted models and pydantic-ai's test models are allowed. A turn that asks a real model fails with
`Model requests are not allowed`. The plugin has no effect on workers in other processes.
It also gives the fixtures of `symposia.testing.fixtures`, which pytest knows without it where entry points are loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from .fixtures import symposia, symposia_server, symposia_settings

__all__ = ["no_real_models", "pytest_configure", "symposia", "symposia_server", "symposia_settings"]

try:
    from pydantic_ai.models import override_allow_model_requests
except ModuleNotFoundError:  # the core has no agents that ask a model
    override_allow_model_requests = nullcontext  # type: ignore[assignment]

MARK = "real_models"


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", f"{MARK}: may ask a real model")


@pytest.fixture(autouse=True)
def no_real_models(request: pytest.FixtureRequest) -> Iterator[None]:
    """Forbid model requests in a test without the mark."""
    with override_allow_model_requests(request.node.get_closest_marker(MARK) is not None):
        yield
