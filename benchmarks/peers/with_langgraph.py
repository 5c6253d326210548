"""LangGraph: a graph of two nodes, whose checkpointer writes the state after each superstep.

Each conversation is a thread of the graph. Sync nodes in one system thread for each conversation were faster than
`ainvoke` with the async checkpointers, so these are measured. The durability mode is the default, `async`: a checkpoint
is written while the next node runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from work import AGENTS, WORD, Work

#: Supersteps more than turns that the recursion limit allows.
SPARE = 10


class DeltaState(TypedDict):
    """Messages of which a checkpoint holds only the new ones; a complete copy follows every 100 updates."""

    messages: Annotated[list[Any], DeltaChannel(_messages_delta_reducer)]


@contextmanager
def prepare(work: Work) -> Iterator[Callable[[], int]]:
    """Write the history of each thread as its first checkpoint, and yield what takes the turns."""
    with open_saver(work) as saver, ThreadPoolExecutor(work.sessions) as threads:
        take_turns(build_graph(work, until=2 * SPARE).compile(checkpointer=saver), new_thread(2 * SPARE))
        graph = build_graph(work, until=work.history + work.turns).compile(checkpointer=saver)
        configs = [new_thread(work.turns) for _ in range(work.sessions)]
        history = [HumanMessage(text) for text in work.messages]
        for config in configs:
            graph.update_state(config, {"messages": history}, as_node=AGENTS[-1])
        yield lambda: sum(
            threads.map(lambda thread_config: take_turns(graph, thread_config) - work.history, configs)
        )


def build_graph(work: Work, *, until: int) -> StateGraph[Any]:
    """Return the graph: the agents alternate until the dialog has this many messages."""

    def create_node(name: str) -> Callable[[Any], dict[str, Any]]:
        return lambda state: {"messages": [AIMessage(WORD, name=name)]}

    def route_to(name: str) -> Callable[[Any], str]:
        return lambda state: END if len(state["messages"]) >= until or work.is_over() else name

    graph = StateGraph(DeltaState if work.peer == "langgraph-delta" else MessagesState)
    graph.add_edge(START, AGENTS[0])
    for name, other in (AGENTS, AGENTS[::-1]):
        graph.add_node(name, create_node(name))
        graph.add_conditional_edges(name, route_to(other), [other, END])
    return graph


def new_thread(turns: int) -> dict[str, Any]:
    """Return the configuration of a new thread."""
    return {"configurable": {"thread_id": str(uuid4())}, "recursion_limit": turns + SPARE}


def take_turns(graph: Any, config: dict[str, Any]) -> int:
    """Run a thread to its end; return the number of its messages."""
    is_new = graph.get_state(config).created_at is None
    return len(graph.invoke({"messages": []} if is_new else None, config)["messages"])


@contextmanager
def open_saver(work: Work) -> Iterator[Any]:
    """Yield the checkpointer of the peer."""
    kind = work.peer.partition("-")[2]
    opener = {"postgres": open_postgres, "valkey": open_valkey, "redis": open_redis}.get(kind, open_sqlite)
    with opener(work) as saver:
        yield saver


@contextmanager
def open_sqlite(work: Work) -> Iterator[Any]:
    """SQLite: the saver sets WAL; SQLite's default `synchronous=FULL` flushes to disk at each commit."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    connection = sqlite3.connect(Path(work.folder) / "checkpoints.db", check_same_thread=False)
    if work.relaxed:
        connection.execute("PRAGMA synchronous=NORMAL")
    yield SqliteSaver(connection)
    connection.close()


@contextmanager
def open_postgres(work: Work) -> Iterator[Any]:
    """PostgreSQL: a database of this process, a connection for each thread."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row
    from psycopg_pool import ConnectionPool

    name = f"peer_{uuid4().hex}"
    with psycopg.connect(work.url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with ConnectionPool(
        f"{work.url.rpartition('/')[0]}/{name}",
        kwargs=options,
        min_size=work.sessions,
        max_size=work.sessions + 1,
    ) as pool:
        saver = PostgresSaver(pool)
        saver.setup()
        yield saver


@contextmanager
def open_valkey(work: Work) -> Iterator[Any]:
    """Valkey: the saver of `langgraph-checkpoint-aws`, which needs no server modules."""
    from langgraph_checkpoint_aws import ValkeySaver

    url = work.url.replace("redis://", "valkey://")
    # A thread also writes in the background; a call without a free connection fails.
    with ValkeySaver.from_conn_string(url, pool_size=4 * work.sessions + 4) as saver:
        yield saver


@contextmanager
def open_redis(work: Work) -> Iterator[Any]:
    """Redis 8: the saver of `langgraph-checkpoint-redis`, which needs RedisJSON and RediSearch."""
    from langgraph.checkpoint.redis import RedisSaver

    with RedisSaver.from_conn_string(work.url) as saver:
        saver.setup()
        yield saver
