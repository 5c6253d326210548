"""An installation in the process of a test: an embedded server, scripted agents, and turns in threads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, overload

from pydantic import ValidationError

from ..agents.kinds.scripted import ScriptedAgent, ScriptedEntry, SlowScriptedAgent
from ..client.base import run_all_sessions
from ..client.in_process.installation import InProcessInstallation
from ..client.local.client import LocalClient
from ..models.errors import InvalidInput, invalid_input
from ..models.turns.turn import TurnContext, TurnOutcome
from ..models.turns.waiting import Pending
from ..state.redis.connect import connect

AgentT = TypeVar("AgentT")
#: A reply of a script: text, or a table such as `{"fail": "no answer"}`; see docs/agents.md#scripted.
Reply = str | Mapping[str, object]

_POLL_S = 0.01
#: Settings of servers that a test must not reach.
_NO_SERVERS = {"memory_redis_url": None, "recall_store": None}


class Script(SlowScriptedAgent):
    """An agent with replies that are written in advance; it records its turns."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        try:
            entry = ScriptedEntry.model_validate({"kind": "scripted", "replies": replies})
        except ValidationError as error:
            raise invalid_input(error) from None
        super().__init__(ScriptedAgent(entry.replies))
        #: The turns it has taken, in their order; a turn that was attempted again is there again.
        self.turns: list[TurnContext] = []

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Record the turn, and return the reply."""
        self.turns.append(turn)
        return await super().speak(turn)


class TestInstallation(LocalClient):
    """A `LocalClient` that runs the sessions of all clients of this process; see `run_in_process`."""

    __test__ = False  # the name is no test of pytest

    def __init__(self, redis_url: str, **settings: Any) -> None:
        self._server_url = redis_url
        super().__init__(**{**_NO_SERVERS, **settings})

    def _open(self, agents: Mapping[str, object], **settings: Any) -> InProcessInstallation:
        """Return an installation on the given server, without the sessions of the test before."""
        with connect(self._server_url) as client:
            # Not `flushall`: the fixture of the server may be replaced by one with other data.
            if keys := list(client.scan_iter("symposia:*", count=1_000)):
                client.delete(*keys)
        return InProcessInstallation(agents, url=self._server_url, **settings)

    @overload
    def register(self, name: str, *, replies: Sequence[Reply]) -> Script: ...
    @overload
    def register(self, name: str, agent: AgentT) -> AgentT: ...
    def register(self, name: str, agent: object = None, *, replies: Sequence[Reply] | None = None) -> object:
        """Add an agent, or replace one of the agents file.

        Args:
            name: Name of the agent.
            agent: A function, or an agent of a library, as for `run_local`.
            replies: Instead of `agent`: the replies of a script, one for each turn of the agent in a session; the last
                one is repeated. They need no model.

        Returns:
            The agent; its `turns` are those that the script has taken.

        Raises:
            InvalidInput: The object is no agent, or a reply breaks a rule.
        """
        if (agent is None) == (replies is None):
            raise InvalidInput("replies", replies, "or an agent must be given, not both")
        if isinstance(replies, str):
            raise InvalidInput("replies", replies, "must be a list")
        added = agent if replies is None else Script(replies)
        self._local.add_agent(name, added)
        return added

    def answer(self, text: str, *, name: str | None = None, timeout_s: float = 5.0) -> Pending:
        """Answer the oldest open question to a person; wait until there is one.

        Args:
            text: The answer.
            name: Who answers. None: the first who was asked.
            timeout_s: Maximum seconds to wait.

        Returns:
            The question.

        Raises:
            InvalidInput: The text is not one of the question's choices, or is blank.
            TimeoutError: No person was asked in time.
        """
        deadline = time.monotonic() + timeout_s
        while not (open_questions := self.inbox(name, limit=1)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name or 'no person'} was not asked within {timeout_s:g} s")
            time.sleep(_POLL_S)
        question = open_questions[0]
        job = self.get_job(question.session_id)
        job.reply(name or question.asked[0], text, token=question.reply_token)
        return question


@contextmanager
def run_in_process(redis_url: str, **settings: Any) -> Iterator[TestInstallation]:
    """Run the sessions of `submit` and of all clients of this process in this process, on an empty server.

    `settings`: as of `LocalClient`.
    """
    with TestInstallation(redis_url, **settings) as installation, run_all_sessions(installation):
        yield installation
