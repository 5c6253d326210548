"""One session of agents of several libraries and functions, in one process and on a worker.

The modules are those of the table in docs/agents.md. Only the server of the models is replaced.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import LiveWorker
from processes.terminal import Terminal
from programs import find_frameworks
from scaling import patient
from servers.model_stub import StubModel, completion

pytestmark = pytest.mark.long

PAGE = Path(__file__).parents[3] / "docs/agents.md"
ROW = re.compile(r"^\| [^|]+ \| `(.+)` \|$", re.MULTILINE)
GRAPH = """
from langgraph.graph import START, MessagesState, StateGraph


def answer(state: MessagesState) -> dict:
    request = state["messages"][-1]
    assert request.type == "human" and "Choose a room" in request.content
    return {"messages": [("ai", "eve thinks"), ("ai", "eve agrees")]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
"""
#: Agents that the table does not have: with tools, a graph within another runnable, a message of several parts.
MORE = """
def seats(room: str) -> int:
    "Return the number of seats of a room."
    return {"lamp": 12}[room]


from pydantic_ai import Agent
symposia.agent("gus")(Agent("openai:gpt-4o", tools=[seats]))

from agents import function_tool, Agent
symposia.agent("hal")(Agent(name="Hal", tools=[function_tool(seats)]))
symposia.agent("ivy")(graph.with_retry().with_config(tags=["night"]))

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
parts = ["jan ", {"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "agrees"}]
symposia.agent("jan")(RunnableLambda(lambda prompt: AIMessage(content=parts)))
"""
#: Those whose model is the server.
STREAMING = ("cyd", "dan", "fay", "gus", "hal")
NAMES = ["ann", "ben", "cyd", "dan", "eve", "fay", "gus", "hal", "ivy", "jan"]
PROGRAM = f"""
import json, sys
import my_agents, symposia
from symposia.agents.kinds.object import marked_in

collab = {{"title": "Rooms", "purpose": "Choose a room.", "mode": "round_robin"}}
stop = {{"max_rounds": 1}}
if sys.argv[1:] == ["workers"]:
    collab["participants"] = [{{"participant_id": name, "kind": "agent"}} for name in {NAMES}]
    job = symposia.submit(collab, stop=stop)
    result = job.result({patient(60)})
else:
    agents = {{it.options.name: it.given for it in marked_in("my_agents")}}
    result = symposia.run_local_sync(collab, agents=agents, stop=stop)
said = {{it.speaker: it.content for it in result.dialog.messages}}
print(json.dumps({{"ok": result.ok, "said": said, "usage": [result.usage.requests, result.usage.tokens]}}))
"""
#: Prints who speaks while they speak, then what was said.
LIVE_PROGRAM = f"""
import json, threading, time
import my_agents, symposia
from symposia.agents.kinds.object import marked_in
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key

following = threading.Event()
agents = {{it.options.name: it.given for it in marked_in("my_agents") if it.options.name in {STREAMING}}}
agents = {{"first": lambda turn: following.wait({patient(60)}) and "go" or None, **agents}}
participants = [{{"participant_id": name, "kind": "agent"}} for name in agents]
collab = {{"title": "Rooms", "purpose": "Choose a room.", "mode": "round_robin", "participants": participants}}
with symposia.LocalClient(agents) as client:
    job = client.submit(collab, stop={{"max_rounds": 1}})

    def wait_for_reader():
        with connect(client.redis_url) as redis:
            while not redis.exists(session_key(job.id, "listening")):
                time.sleep(0.05)
        following.set()

    threading.Thread(target=wait_for_reader, daemon=True).start()
    for piece in job.stream():
        if not isinstance(piece, symposia.Message):
            print(piece.participant_id, flush=True)
    result = job.result()
said = {{it.speaker: it.content for it in result.dialog.messages}}
print(json.dumps([said, result.usage.requests, result.usage.tokens]))
"""
SAID = {
    "ann": "ann agrees",
    "ben": "ben agrees",
    "cyd": "cyd agrees",
    "dan": "dan agrees",
    "eve": "eve agrees",
    "fay": "fay agrees",
    "gus": "gus: 12 seats",
    "hal": "hal: 12 seats",
    "ivy": "eve agrees",
    "jan": "jan agrees",
}
#: Requests and tokens: `gus` and `hal` ask twice, with the result of their tool.
USAGE = [7, 7 * 18]


def documented_agents() -> str:
    rows = ROW.findall(PAGE.read_text().partition("## Agents in code")[2].partition("\n## ")[0])
    assert len(rows) == 6
    text = "\n".join(row.replace("`<br>`", "\n") for row in rows)
    ann, ben = "-> str: ...", "def ben(turn): ..."
    assert ann in text
    assert ben in text
    return text.replace(ann, "-> str: return 'ann agrees'").replace(ben, "def ben(turn): return 'ben agrees'")


@pytest.fixture
def terminal_with_frameworks(terminal: Terminal) -> Iterator[tuple[Terminal, dict[str, str], StubModel]]:
    folder = terminal.folder
    terminal.path = [folder, find_frameworks()]
    (folder / "my_agents.py").write_text(f"import symposia\n{documented_agents()}\n{MORE}")
    (folder / "my_graph.py").write_text(GRAPH)
    (folder / "registry.toml").write_text('modules = ["my_agents"]\n')
    (folder / "program.py").write_text(PROGRAM)
    answers = [completion(f"{name} agrees") for name in ("cyd", "dan", "fay")]
    for name in ("gus", "hal"):
        answers += [completion(tool=("seats", {"room": "lamp"})), completion(f"{name}: 12 seats")]
    with StubModel() as model:
        model.answers(*answers)
        keys = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "k", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        yield terminal, {**terminal.environment, **keys}, model


def run_program(terminal: Terminal, environment: dict[str, str], *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "program.py", *arguments],
        cwd=terminal.folder,
        env=environment,
        timeout=patient(90),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {"ok": True, "said": SAID, "usage": USAGE}


def test_agents_of_several_libraries_run_in_one_process(terminal_with_frameworks):
    run_program(*terminal_with_frameworks[:2])


def test_agents_of_several_libraries_run_on_a_worker(terminal_with_frameworks):
    terminal, environment, _ = terminal_with_frameworks
    worker = LiveWorker(
        *("w", terminal.folder, environment),
        app="symposia.workers",
        concurrency=2,
        path=terminal.path,
        as_installed=True,  # the packages in `path` replace others
    )
    try:
        worker.wait_ready()
        run_program(terminal, environment, "workers")
    finally:
        worker.close()


def test_models_of_several_libraries_stream(terminal_with_frameworks):
    terminal, environment, model = terminal_with_frameworks
    seen = {name: threading.Event() for name in STREAMING}
    # Each answer pauses after its first word, until the program has shown that.
    answers = [
        completion(SAID[name], pause=seen[name], pause_after=1 if name == "dan" else 4) for name in STREAMING
    ]
    call = completion(tool=("seats", {"room": "lamp"}))
    model.answers(*answers[:3], call, answers[3], call, answers[4])
    command = [sys.executable, "-c", LIVE_PROGRAM]
    with subprocess.Popen(
        command, cwd=terminal.folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as program:
        said = None
        for line in program.stdout:
            if (name := line.strip()) in seen:
                seen[name].set()
            else:
                said, *usage = json.loads(line)
    assert {name: said[name] for name in STREAMING} == {name: SAID[name] for name in STREAMING}
    assert usage == USAGE
    assert all(it.is_set() for it in seen.values())
