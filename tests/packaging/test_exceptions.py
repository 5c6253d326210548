"""All exceptions of the package are in one module, which callers import."""

import importlib
import pkgutil

import pytest

import symposia
from symposia.models import errors
from symposia.models.errors import SymposiaError


def test_all_exceptions_are_in_models_errors(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMPOSIA_REDIS_URL", redis_url)  # the app of the workers needs one
    for module in pkgutil.walk_packages(symposia.__path__, "symposia."):
        if not module.name.startswith(
            ("symposia.tests", "symposia.benchmarks", "symposia.examples", "symposia.setup")
        ):
            importlib.import_module(module.name)
    pending, elsewhere = [SymposiaError], set()
    while pending:
        kinds = pending.pop().__subclasses__()
        pending += kinds
        elsewhere |= {
            kind
            for kind in kinds
            if kind.__module__.startswith("symposia.") and kind.__module__ != errors.__name__
        }
    assert elsewhere == set()
