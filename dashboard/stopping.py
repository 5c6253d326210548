"""End of Flower at SIGTERM: its event loop is stopped from within.

Flower's own signal handler raises `SystemExit` in whatever code runs at that moment. If that is the code of Tornado
that starts a request, Tornado logs the exception and continues, and Flower runs on. Seen in Flower 2.2.0 with
Tornado 6.6.1, no issue. Remove this module when `test_tornado_swallows_the_exit_of_flowers_signal_handler` fails.
"""

from __future__ import annotations

import asyncio

from flower import command


def stop_at_sigterm() -> None:
    """Replace Flower's handler of SIGTERM. Call it before Flower is built."""
    command.sigterm_handler = _stop_loop


def _stop_loop(signum: int, _frame: object) -> None:
    command.logger.info("%s detected, shutting down", signum)
    loop = asyncio.get_event_loop()
    # A loop that has not started yet stops after its first iteration.
    loop.call_soon_threadsafe(loop.stop)
