"""Check of calls that wait and block their thread, and whether this process is the kernel of a notebook.

IPython is not imported: it is there if this process is one of its kernels.
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from contextvars import ContextVar
from typing import Any

from ..agents.execution.running import refuse_wait_in_turn

_IN_LOOP = (
    "a blocking call waits for a session in a running event loop, which stops meanwhile: use AsyncClient, "
    "or `await asyncio.to_thread(job.result)`"
)


def check_blocking_wait(session_id: str) -> None:
    """Check a call that waits for a session; the caller is a public method.

    It warns in a running event loop. Cells of a notebook always run in one, and may block it.

    Raises:
        WaitInTurn: This code runs in the turn of an agent.
    """
    refuse_wait_in_turn(session_id)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    if not is_notebook():
        warnings.warn(_IN_LOOP, RuntimeWarning, stacklevel=3)


#: Whether the caller of this thread runs such a task: see `note_caller`.
_is_caller_blocked: ContextVar[bool] = ContextVar("symposia_caller_blocks_worker", default=False)


def note_caller() -> None:
    """Note in this context, which another thread continues, whether this thread runs a Celery task."""
    _is_caller_blocked.set(blocks_worker())


def blocks_worker() -> bool:
    """Return whether a Celery task of a worker calls this, and Celery would refuse to wait for another task."""
    if _is_caller_blocked.get():
        return True
    if (state := sys.modules.get("celery._state")) is None:
        return False
    # Not within the pools of greenlets, and not while `allow_join_result` is active.
    return bool(state.task_join_will_block()) and state.get_current_worker_task() is not None


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    return hasattr(_shell(), "kernel")


def current_cell() -> int | None:
    """Return the number of the cell that runs; None: this process is no kernel of a notebook."""
    return getattr(_shell(), "execution_count", None) if is_notebook() else None


def _shell() -> Any:
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython() if get_ipython else None
