"""DBOS: a workflow with a step for each turn; DBOS writes the output of each step.

The dialog before the turns is the argument of the workflow, which DBOS writes once. DBOS does not write the dialog
again, so its cost does not depend on the length.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy
from dbos import DBOS, DBOSConfig
from work import WORD, Work

#: Turns of the conversation that runs before the measurement.
WARM_UP = 20


@DBOS.step()
def ann() -> str:
    """Answer."""
    return WORD


@DBOS.step()
def bob() -> str:
    """Answer."""
    return WORD


@contextmanager
def prepare(work: Work) -> Iterator[Callable[[], int]]:
    """Start a workflow for each conversation, which waits before its first turn; yield what takes the turns."""
    ready, go = threading.Semaphore(0), threading.Event()

    @DBOS.workflow()
    def converse(dialog: list[str], turns: int) -> int:
        taken = 0
        ready.release()
        go.wait()
        while taken < turns and not work.is_over():
            dialog.append((ann, bob)[taken % 2]())
            taken += 1
        return taken

    DBOS(config=configure(work))
    DBOS.launch()
    go.set()
    DBOS.start_workflow(converse, [], WARM_UP).get_result()
    go.clear()
    ready.acquire()
    handles = [DBOS.start_workflow(converse, work.messages, work.turns) for _ in range(work.sessions)]
    for _ in handles:
        ready.acquire()

    def run() -> int:
        go.set()
        return sum(wait(handle) for handle in handles)

    yield run
    DBOS.destroy()


def wait(handle: Any) -> int:
    """Return the number of turns that a workflow took."""
    return handle.get_result()


def configure(work: Work) -> DBOSConfig:
    """Return the configuration: the defaults, with a connection for each workflow."""
    config: DBOSConfig = {
        "name": "bench-peer",
        "executor_id": f"bench-{os.getpid()}",
        "sys_db_pool_size": work.sessions + 5,
        "run_admin_server": False,
        "log_level": "WARNING",
    }
    if work.url:
        config["system_database_url"] = f"{work.url.rpartition('/')[0]}/peer_{uuid4().hex}"
        return config
    config["system_database_url"] = f"sqlite:///{Path(work.folder) / 'dbos.db'}"
    if work.relaxed:
        config["system_database_engine"] = create_relaxed_engine(config["system_database_url"], work.sessions)
    return config


def create_relaxed_engine(url: str, sessions: int) -> sqlalchemy.Engine:
    """Return the engine that DBOS would create, with a write-ahead log that is not flushed at each commit."""
    engine = sqlalchemy.create_engine(url, pool_size=sessions + 5)

    @sqlalchemy.event.listens_for(engine, "connect")
    def set_options(connection: Any, _record: Any) -> None:
        connection.isolation_level = "IMMEDIATE"
        for option in (
            "busy_timeout=30000",
            "foreign_keys=ON",
            "journal_mode=WAL",
            "synchronous=NORMAL",
        ):
            connection.execute(f"PRAGMA {option}")

    return engine
