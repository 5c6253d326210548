"""The lowest versions that pyproject.toml allows are those of `make test-lowest`."""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from distributions import ROOT
from symposia import InvalidInput
from symposia.config import celery as config
from symposia.config.settings import load_settings

#: The extras whose packages a worker has.
EXTRAS = ("cli", "worker")


def lowest_versions() -> dict[str, Version]:
    """Return the lowest version of each package of a client and a worker, by its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [
        *project["dependencies"],
        *(it for extra in EXTRAS for it in project["optional-dependencies"][extra]),
    ]
    requirements = [Requirement(it) for it in required]
    return {
        canonicalize_name(it.name): Version(part.version)
        for it in requirements
        for part in it.specifier
        if part.operator == ">="
    }


def test_pins_are_the_lowest_versions() -> None:
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    pinned = {canonicalize_name(pin.name): Version(str(pin.specifier).removeprefix("==")) for pin in pins}
    assert pinned == lowest_versions()


@pytest.mark.parametrize(("installed", "is_refused"), [("5.4.0", True), ("5.5.0rc1", False), ("6.0", False)])
def test_quorum_queue_needs_celery_5_5(monkeypatch, installed, is_refused) -> None:
    monkeypatch.setattr(config, "version", lambda _: installed)
    settings = load_settings(redis_url="redis://127.0.0.1:1", queue_type="quorum")
    if not is_refused:
        config.check_queue_support(settings)
        return
    with pytest.raises(InvalidInput, match=r"needs Celery 5\.5 or later, and Celery 5\.4\.0 is installed"):
        config.check_queue_support(settings)
