"""The same conversations in other libraries, which stand in the place of bare Celery: two agents that answer at once.

Each case compares the same turns at the same length of the dialog, on the same cores. Peers write to disk as they do by
default. `-relaxed`: a commit does not wait for the disk, as with Symposia's embedded server, which writes to disk every
second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

from harness.peer_servers import postgres, redis, valkey
from harness.peers import Conversations, check_installed, run_ours, run_peer
from harness.registry import Bench, Run, case
from harness.results import Measure
from harness.stage import Setup

Server = Callable[..., AbstractContextManager[str]]


def no_server(*, relaxed: bool) -> AbstractContextManager[str]:
    """Yield no URL: the peer writes files."""
    return nullcontext("")


#: By name of the case: text, server.
PEERS: dict[str, tuple[str, Server]] = {
    "langgraph-sqlite": ("LangGraph with SqliteSaver, flushed to disk at each commit.", no_server),
    "langgraph-sqlite-relaxed": ("LangGraph with SqliteSaver, `synchronous=NORMAL`.", no_server),
    "langgraph-delta-relaxed": ("The same with DeltaChannel (beta), which writes new messages.", no_server),
    "langgraph-postgres": ("LangGraph with PostgresSaver, flushed to disk at each commit.", postgres),
    "langgraph-postgres-relaxed": ("The same with `synchronous_commit=off`.", postgres),
    "langgraph-valkey": ("LangGraph with ValkeySaver, on a Valkey configured as ours.", valkey),
    "langgraph-redis": ("LangGraph with RedisSaver, on a Redis 8 configured as our Valkey.", redis),
    "dbos-sqlite": ("DBOS with SQLite, flushed to disk at each commit.", no_server),
    "dbos-sqlite-relaxed": ("DBOS with SQLite, write-ahead log and `synchronous=NORMAL`.", no_server),
    "dbos-postgres": ("DBOS with PostgreSQL, flushed to disk at each commit.", postgres),
    "dbos-postgres-relaxed": ("The same with `synchronous_commit=off`.", postgres),
    "autogen": ("AutoGen, which is not durable: it keeps conversations in memory.", no_server),
}
#: Turns of a conversation without other load.
ALONE = 100
#: Messages that all conversations of a load have at most.
MAX_MESSAGES = 100_000
REPEATS = 3


def _peer(name: str, text: str, server: Server) -> Run:
    relaxed = name.endswith("-relaxed")
    peer = name.removesuffix("-relaxed")

    def run(bench: Bench) -> Iterator[Measure]:
        check_installed()
        bench.stage.leave()  # the sessions of other cases use memory
        with server(relaxed=relaxed) as url:
            place = bench.use(Setup(workers=2))
            for title, load in loads(bench):
                yield from bench.alternate(
                    title,
                    lambda load=load: run_ours(place, load),
                    lambda load=load: run_peer(peer, load, relaxed=relaxed, url=url),
                    repeats=min(REPEATS, bench.sizes.repeats),
                )

    run.__doc__ = text
    return run


def loads(bench: Bench) -> Iterator[tuple[str, Conversations]]:
    """Return the conversations of each length, alone and under load, with their names."""
    sizes = bench.sizes
    for messages in sizes.lengths:
        yield f"alone, {messages:,} messages", Conversations(1, min(sizes.alone, ALONE), messages)
        sessions = min(sizes.sessions, max(MAX_MESSAGES // messages, 1))
        yield f"{sessions} sessions, {messages:,} messages", Conversations(sessions, sizes.turns, messages)


for _name, (_text, _server) in PEERS.items():
    case(f"peer-{_name}", short=False, group="peers")(_peer(_name, _text, _server))
