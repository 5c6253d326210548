"""The import path of workers, for commands that import the same code in their own process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path


@contextmanager
def importing_as_workers() -> Iterator[None]:
    """Add the working folder to the import path, like `python -m ...`, which runs the workers.

    What the code prints goes to standard error: standard output is that of the command.
    """
    before = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        sys.path[:] = before
