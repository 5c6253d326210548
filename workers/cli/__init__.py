"""The command line: `symposia`.

Commands import what they need when they run, so that `symposia --help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its code; `arguments` are those of the process unless given."""
    from .app import app
    from .exits import guarded

    sys.exit(guarded(app, sys.argv[1:] if arguments is None else list(arguments)))
