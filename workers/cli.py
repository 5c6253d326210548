"""The former place of `symposia.cli`, for scripts of installations that are older than it."""

from __future__ import annotations

from importlib import import_module


def main() -> None:
    """Run one command and exit with its code."""
    import_module("symposia.cli").main()  # by name: the command line is above this package
