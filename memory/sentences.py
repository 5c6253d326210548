"""Sentences of users: what was read is kept with the session, so that it is read once; and reading in programs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from typing import cast

from pydantic import ValidationError
from redis import Redis

from ..models.errors import InvalidInput
from ..models.memory.checking import CheckedLearned, check_learned
from ..models.memory.learned import Learned
from ..models.memory.masking import mask
from ..models.memory.recall import MemoryView
from ..models.memory.sentences import ModelParser, Sentence, read_parsed, registered_parser
from ..state.redis.keys import parsed_key

#: Milliseconds for which it is kept.
KEPT_MS = 7 * 24 * 3_600_000


class ParsedSentences:
    """Parameters read from the sentences of sessions. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def read(self, session_id: str, opened_ms: int) -> Learned | None:
        """Return what was read; None: nothing yet.

        Raises:
            RedisError, StateError: The server does not answer.
        """
        text = cast("str | None", self._client.get(parsed_key(session_id, opened_ms)))
        try:
            return None if text is None else Learned.model_validate_json(text)
        except ValidationError:
            return None  # the sentence is read again

    def add(self, session_id: str, opened_ms: int, learned: Learned) -> None:
        """Store what was read; of parallel turns, the first one decides.

        Raises:
            RedisError, StateError: The server does not answer.
        """
        self._client.set(parsed_key(session_id, opened_ms), learned.model_dump_json(), px=KEPT_MS, nx=True)


def read_in_program(text: str, view: MemoryView, *, today: date) -> CheckedLearned:
    """Return what the registered parser reads in a sentence, for a program without sessions.

    Raises:
        InvalidInput: There is no parser, it is an agent, or it returned something else than parameters.
    """
    parser, shown = registered_parser(), mask("message", text)
    if parser is None:
        raise InvalidInput("parameters", shown, "no parser is registered here: call register_parser")
    if isinstance(parser, ModelParser):
        raise InvalidInput(
            "parameters", text, "an agent reads sentences in sessions only: use `said` of submit"
        )
    answer: object = parser(Sentence(text, view, today))
    if inspect.isawaitable(answer):
        with ThreadPoolExecutor(1) as pool:  # this thread may have an event loop already
            answer = pool.submit(asyncio.run, _wait(answer)).result()
    learned = read_parsed(answer)
    checked = check_learned(learned, view)
    return replace(checked, learned=learned) if checked.unclear else checked


async def _wait(answer: Awaitable[object]) -> object:
    return await answer
