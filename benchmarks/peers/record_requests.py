"""Requests of three agents of AutoGen or LangGraph in one round-robin dialog, with the same window for each.

It prints each request as JSON, on a line of its own: the agent, and the texts of its blocks. AutoGen keeps a
`TokenLimitedChatCompletionContext`; in LangGraph each node calls `trim_messages`, as its documentation shows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

AGENTS = ("ann", "bob", "cleo")
#: Characters for a token, as the case counts them.
PER_TOKEN = 4


def answer(number: int, size: int) -> str:
    """Return the text of a turn."""
    return f"{number} " + "x" * (size - 20)


def show(agent: str, blocks: Sequence[str]) -> None:
    """Print a request."""
    print(json.dumps([agent, list(blocks)]), flush=True)


def run_autogen(options: argparse.Namespace) -> None:
    """Run a group chat whose model records its requests."""
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.teams import RoundRobinGroupChat
    from autogen_core.model_context import TokenLimitedChatCompletionContext
    from autogen_core.models import ChatCompletionClient, CreateResult, RequestUsage

    class Recorder(ChatCompletionClient):
        """A model that answers with a text of the same length each time."""

        turn = 0

        def __init__(self, agent: str) -> None:
            self.agent = agent

        async def create(self, messages: Sequence[Any], **_: Any) -> CreateResult:
            show(self.agent, [f"{type(it).__name__} {it.content}" for it in messages])
            Recorder.turn += 1
            usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
            text = answer(Recorder.turn, options.size)
            return CreateResult(finish_reason="stop", content=text, usage=usage, cached=False)

        def create_stream(self, messages: Sequence[Any], **_: Any) -> AsyncGenerator[Any, None]:
            raise NotImplementedError

        async def close(self) -> None:
            """Do nothing."""

        def actual_usage(self) -> RequestUsage:
            return RequestUsage(prompt_tokens=0, completion_tokens=0)

        total_usage = actual_usage

        def count_tokens(self, messages: Sequence[Any], **_: Any) -> int:
            return sum(len(str(it.content)) for it in messages) // PER_TOKEN

        def remaining_tokens(self, messages: Sequence[Any], **_: Any) -> int:
            return options.window - self.count_tokens(messages)

        @property
        def model_info(self) -> Any:
            return {
                "vision": False,
                "function_calling": False,
                "json_output": False,
                "family": "unknown",
                "structured_output": False,
            }

        capabilities = model_info

    speakers = [
        AssistantAgent(
            name,
            model_client=(client := Recorder(name)),
            system_message=f"You are {name}.",
            model_context=TokenLimitedChatCompletionContext(client, token_limit=options.window),
        )
        for name in AGENTS
    ]
    team = RoundRobinGroupChat(list(speakers), max_turns=options.turns)
    asyncio.run(team.run(task=answer(0, options.size)))


def run_langgraph(options: argparse.Namespace) -> None:
    """Run a graph of three nodes, each of which trims the messages for its request."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, trim_messages
    from langgraph.graph import END, START, MessagesState, StateGraph

    def count(messages: Sequence[Any]) -> int:
        return sum(len(str(it.content)) for it in messages) // PER_TOKEN

    def node(name: str) -> Any:
        def speak(state: Any) -> dict[str, Any]:
            given = [SystemMessage(f"You are {name}."), *state["messages"]]
            shown = trim_messages(
                given, max_tokens=options.window, token_counter=count, strategy="last", include_system=True
            )
            show(name, [f"{it.type} {it.content}" for it in shown])
            return {"messages": [AIMessage(answer(len(state["messages"]), options.size), name=name)]}

        return speak

    graph = StateGraph(MessagesState)
    graph.add_edge(START, AGENTS[0])
    for name, following in zip(AGENTS, (*AGENTS[1:], AGENTS[0]), strict=True):
        graph.add_node(name, node(name))
        graph.add_conditional_edges(
            name,
            lambda state, following=following: END if len(state["messages"]) > options.turns else following,
            [following, END],
        )
    opening = {"messages": [HumanMessage(answer(0, options.size))]}
    graph.compile().invoke(opening, {"recursion_limit": options.turns + 10})


RUNS = {"autogen": run_autogen, "langgraph": run_langgraph}


def main() -> None:
    """Run the dialog that the command line describes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=sorted(RUNS))
    for name in ("turns", "window", "size"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    RUNS[options.peer](options)


if __name__ == "__main__":
    main()
