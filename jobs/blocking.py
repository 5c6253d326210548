"""Check of calls that wait and block their thread."""

from __future__ import annotations

import asyncio
import warnings

from ..agents.execution.running import refuse_wait_in_turn
from .kernel import is_notebook

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
