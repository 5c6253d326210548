"""Connections to the nodes of a Redis Cluster that survive Ctrl-C.

If an exception such as KeyboardInterrupt arrives between a command and its answer, the cluster client of redis-py 8.1
returns the connection to its pool with the answer unread, and the next command gets that answer.

Upstream: no issue found. Remove this module when `test_redis_py_gives_a_command_the_answer_of_an_interrupted_one`
(`tests/state/test_interrupted.py`) fails.
"""

from __future__ import annotations

import sys
from typing import Any

from redis import ConnectionPool


class InterruptiblePool(ConnectionPool):
    """redis-py's pool. An interrupted connection is closed before it is returned."""

    def release(self, connection: Any) -> None:
        """As in ConnectionPool."""
        interrupt = sys.exc_info()[1]
        if interrupt is not None and not isinstance(interrupt, Exception):
            connection.disconnect()
        super().release(connection)
