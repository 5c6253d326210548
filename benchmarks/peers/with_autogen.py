"""AutoGen: a round-robin group chat of two agents. It keeps everything in memory and writes nothing to disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import TimeoutTermination
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken
from work import AGENTS, WORD, Work

#: Turns of the conversation that runs before the measurement.
WARM_UP = 20


class Speaker(BaseChatAgent):
    """An agent that answers at once."""

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """The types of its messages."""
        return (TextMessage,)

    async def on_messages(
        self,
        messages: Sequence[BaseChatMessage],  # noqa: ARG002
        cancellation_token: CancellationToken,  # noqa: ARG002
    ) -> Response:
        """Answer."""
        return Response(chat_message=TextMessage(content=WORD, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Do nothing: the agent has no state."""


@contextmanager
def prepare(work: Work) -> Iterator[Callable[[], int]]:
    """Create a team for each conversation with the dialog so far; yield what takes the turns."""
    with asyncio.Runner() as runner:
        runner.run(take_turns([create_team(work, WARM_UP)]))
        teams = [create_team(work, work.turns) for _ in range(work.sessions)]
        runner.run(load_history(teams, work))
        yield lambda: runner.run(take_turns(teams))


def create_team(work: Work, turns: int) -> RoundRobinGroupChat:
    """Return a team that ends after these turns."""
    speakers = [Speaker(name, "An agent that answers at once.") for name in AGENTS]
    limit = TimeoutTermination(work.seconds)
    return RoundRobinGroupChat(list(speakers), termination_condition=limit, max_turns=turns)


async def load_history(teams: Sequence[RoundRobinGroupChat], work: Work) -> None:
    """Give each team the dialog so far, as its saved state."""
    thread = [TextMessage(content=text, source="user").dump() for text in work.messages]
    for team in teams:
        state: dict[str, Any] = dict(await team.save_state())
        name = next(agent_name for agent_name in state["agent_states"] if agent_name.endswith("Manager"))
        state["agent_states"][name]["message_thread"] = thread
        await team.load_state(state)


async def take_turns(teams: Sequence[RoundRobinGroupChat]) -> int:
    """Run all teams; return the number of their turns."""
    results = await asyncio.gather(*(team.run(task=None) for team in teams))
    return sum(len(result.messages) for result in results)
