"""The pages in Flower, for `flowerconfig.py` of a stock Flower."""

from __future__ import annotations

from importlib import import_module


def install() -> None:
    """Add the pages to Flower. Call it before Flower is built; a second call does nothing."""
    import_module("symposia.dashboard").install()  # by name: the pages are above this package
