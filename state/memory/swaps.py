"""Compare-and-set of stored memories: several texts in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import Any

from redis import Redis
from redis.exceptions import NoScriptError, ResponseError

from ...models.errors import ScriptError
from ...models.memory.sharing import SharingConsent
from ...models.memory.state import MemoryState
from ..redis.cluster import ClusterClient
from ..redis.scripts import load_script


@dataclass(frozen=True, slots=True)
class Swap:
    """Replacement of a text, applied only if the text is still the one that was read."""

    key: str
    #: SHA-1 of the text that was read; empty: there was none.
    version: str
    #: New text; empty: the key is removed.
    text: str
    #: TTL in milliseconds; 0: unchanged.
    ttl_ms: int
    #: The value in the text.
    value: MemoryState | SharingConsent
    evicted: int = 0


def version_of(text: str) -> str:
    """Return the SHA-1 of a text."""
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def send_swaps(
    client: Redis, swaps: Sequence[Swap], *, then_read: str | None = None
) -> tuple[list[str | None], object]:
    """Send the swaps, then read one more key, in one round trip.

    Returns:
        For each swap None if it was made, otherwise the current text (empty: no text); and the answer to the
        GET of `then_read`.

    Raises:
        RedisError, StateError: the server does not answer, or a script failed.
    """
    script = load_script("memory/swap")
    answers = _sent(client, "EVALSHA", script.sha, swaps, then_read)
    if any(isinstance(answer, NoScriptError) for answer in answers):
        answers = _sent(client, "EVAL", script.text, swaps, then_read)
    swapped = answers[: len(swaps)]
    for answer in swapped:
        if isinstance(answer, ResponseError):
            raise ScriptError(script.verb, str(answer)) from answer
    there = [None if answer[0] == "swapped" else answer[1] for answer in swapped]
    return there, answers[-1] if then_read else None


def _sent(
    client: Redis, command: str, script: str, swaps: Sequence[Swap], then_read: str | None
) -> list[Any]:
    pipeline: Any = client.pipeline(transaction=False)
    for swap in swaps:
        pipeline.execute_command(command, script, 1, swap.key, swap.version, swap.text, swap.ttl_ms)
    # The nodes of a cluster answer in any order, but the value must be read after the swaps.
    is_apart = isinstance(client, ClusterClient)
    if then_read and not is_apart:
        pipeline.get(then_read)
    answers: list[Any] = pipeline.execute(raise_on_error=False)
    return [*answers, client.get(then_read)] if then_read and is_apart else answers
