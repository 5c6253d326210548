"""The kernel of a notebook in which this process runs, if it does.

IPython is not imported: it is there if this process is one of its kernels.
"""

from __future__ import annotations

import sys
from typing import Any


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    return hasattr(_shell(), "kernel")


def current_cell() -> int | None:
    """Return the number of the cell that runs; None: this process is no kernel of a notebook."""
    return getattr(_shell(), "execution_count", None) if is_notebook() else None


def _shell() -> Any:
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython() if get_ipython else None
