"""The registered parser as an agent: it reads the sentence of a session with the deadline and the lease of a turn."""

from __future__ import annotations

import asyncio
import inspect
from functools import partial

from ...models.memory.sentences import ParserFunction, Sentence, read_parsed
from ...models.turns.turn import TurnContext, TurnOutcome
from ..execution.threads import DaemonThreadPool


class ParserAgent:
    """The agent of a parser that is a function; a sync one runs in a thread."""

    def __init__(self, parser: ParserFunction, sentence: Sentence, *, threads: DaemonThreadPool) -> None:
        self._parser = parser
        self._sentence = sentence
        self._threads = threads

    async def speak(self, _turn: TurnContext) -> TurnOutcome:
        """Return a pass with what the parser found.

        Raises:
            InvalidInput: The parser returned neither parameters nor None.
        """
        answer = await asyncio.wrap_future(self._threads.submit(partial(self._parser, self._sentence)))
        learned = read_parsed(await answer if inspect.isawaitable(answer) else answer)
        return TurnOutcome(passed=True, learned=learned)
