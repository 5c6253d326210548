"""Size limit of the messages that a worker decodes.

Messages of Symposia have a few hundred bytes. JSON takes up to twenty times its length once it is decoded,
and compressed text a thousand times, so one message could fill a worker's memory.

Upstream: kombu 5.7.0 has no limit, no issue found. Remove this module when
`test_kombu_decompresses_without_a_limit` fails, if the new limit can be set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kombu import compression

#: Maximum bytes of a message as received from the broker.
MAX_MESSAGE_BYTES = 1_048_576


class RefusedMessage(ValueError):
    """Error for a message that is too large, or compressed."""


def is_oversized(raw: object) -> bool:
    """Return whether a received message is longer than `MAX_MESSAGE_BYTES`."""
    return isinstance(raw, (bytes, str, memoryview)) and len(raw) > MAX_MESSAGE_BYTES


def check_size(raw: Any) -> None:
    """Raise RefusedMessage for a message that is too large."""
    if is_oversized(raw):
        raise RefusedMessage(f"{len(raw):,} bytes exceed the limit of {MAX_MESSAGE_BYTES:,}")


def check_popped(client: Any) -> None:
    """Make a redis-py client check the messages that it pops from a queue, before kombu decodes them."""
    usual: Callable[..., Any] = client.response_callbacks["BRPOP"]

    def checked(reply: Any, **options: Any) -> Any:
        if reply:
            check_size(reply[1])
        return usual(reply, **options)

    client.set_response_callback("BRPOP", checked)


def refuse_compressed() -> None:
    """Make kombu refuse compressed messages in this process. Symposia sends none."""
    for name in compression.encoders():
        found: Any = compression.get_encoder(name)  # a pair, contrary to its annotation
        encoder, content_type = found
        compression.register(encoder, _refuse, content_type)


def _refuse(_: object) -> bytes:
    raise RefusedMessage("compressed messages are not accepted")
