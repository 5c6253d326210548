"""A pytest plugin: no test asks a real model, unless it is marked for it.

    # conftest.py
    pytest_plugins = ["symposia.testing.plugin"]

    @pytest.mark.real_models
    def test_against_the_real_thing(): ...

Scripted models, and pydantic-ai's own test models, are no real ones. A turn that asks one fails
with `Model requests are not allowed`. What a worker in another process does is its own affair.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic_ai.models import override_allow_model_requests

MARK = "real_models"


def pytest_configure(config: pytest.Config) -> None:
    """Declares the mark."""
    config.addinivalue_line("markers", f"{MARK}: may ask a real model")


@pytest.fixture(autouse=True)
def no_real_models(request: pytest.FixtureRequest) -> Iterator[None]:
    """Forbids model requests to a test that is not marked."""
    with override_allow_model_requests(request.node.get_closest_marker(MARK) is not None):
        yield
