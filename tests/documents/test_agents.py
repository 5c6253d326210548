"""Agents: the tables of docs/agents.md in one agents file, and its programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from documents.pages import Page
from documents.programs import run_here, run_program
from live import until
from processes.terminal import Terminal
from servers.model_stub import StubModel, completion
from symposia.state.presence import WorkerPresence, all_agents
from symposia.state.redis.connect import connect

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/agents.md")
MODULES = PAGE.take("toml", "modules = ")
MODELS = PAGE.take("toml", "[models.house]")
APPROVAL = PAGE.take("toml", "[tools.pay]")
PROGRAM = PAGE.take("toml", "[agents.linter]")
REVIEWER = PAGE.take("toml", "[agents.strict]")
TOOL = PAGE.take("python", "def book_room")
STREAM = PAGE.take("python", "Drafts()")
TEST = PAGE.take("python", "ScriptedModel")

ENDPOINT = "http://localhost:8000/v1"
MODULE = "import symposia\n\n\n@symposia.agent('ada')\ndef ada(turn):\n    return 'Hello.'\n"
#: An agent of the tools that need an approval, at an endpoint of this machine.
PAYER = """
[models.till]
model = "till"
base_url = "{url}"

[agents.payer]
kind = "llm"
model = "till"
tools = ["pay", "files"]
"""
#: An agent that waits for a file.
GATED = """
[agents.gated]
kind = "python"
callable = "stub_agents.live:gated"
"""
#: The tool's own library of rooms.
ROOMS = """
class rooms:
    @staticmethod
    def book(name, idempotency_key):
        return f"{name} booked once" if idempotency_key else "no key"


"""
#: The program of the page's tool server.
SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("files")


@server.tool()
def write_file(path: str, text: str) -> str:
    "Write a file."
    return f"wrote {path}"


server.run(transport="stdio")
"""
#: Prints what its session says of one turn of an agent, after a message.
ONE_TURN = """
from symposia import submit

def say(name, heard):
    people = [{"participant_id": name}]
    collab = {"title": "A", "purpose": "B", "mode": "round_robin", "participants": people}
    job = submit(collab, stop={"max_turns": 1}, messages=[heard])
    result = job.result(timeout=40)
    print(*[it.content for it in result.dialog.messages[1:]] or [result.detail])
"""


def test_test_of_an_agent_passes() -> None:
    run_here(TEST)["test_the_critic_is_asked_to_be_kind"]()


@pytest.fixture(scope="module")
def files(model: StubModel) -> dict[str, str]:
    # Anthropic's client is a package of its own. The page says that a [models] table may be named here, too.
    house = MODELS.replace('"anthropic:claude-sonnet-4-5"', '"house"').replace(ENDPOINT, model.url)
    assert MODELS not in (house, MODELS.replace(ENDPOINT, model.url))
    tables = (MODULES, house, PROGRAM, REVIEWER, GATED)
    return {
        "agents.toml": "\n".join(tables),
        "my_agents.py": MODULE,
        "my_tools.py": 'from stub_agents.approvals import pay\n\n__all__ = ["pay"]\n',
        "my_project/tools.py": ROOMS + TOOL,
        "bin/my-linter": '#!/bin/sh\ncat\necho "$@ finds $MY_LINTER_TOKEN"\nexit 1\n',
        "bin/mcp-server-files": f"#!{sys.executable}\n{SERVER}",
    }


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    return {"HOUSE_KEY": "key of the house", "MY_LINTER_TOKEN": "a token"}


@pytest.mark.long
def test_agents_of_the_file_answer(terminal: Terminal, model: StubModel) -> None:
    model.reset()
    model.answers(completion(tool=("rooms", {"name": "blue"})), completion("The room is booked."))
    said = run_program(
        terminal,
        ONE_TURN,
        """
        say("ada", "Hello?")
        say("secretary", "Book a room.")
        say("linter", "x = 1")
        say("strict", "```python app.py\\nimport os\\n```")
        """,
    )
    assert said.splitlines()[:4] == [
        "Hello.",
        "The room is booked.",
        "x = 1--strict - finds a token",
        "ruff found 3 to fix:",
    ]
    assert "blue booked once" in str(model.asked[-1].body)


@pytest.fixture
def payer(terminal: Terminal, model: StubModel) -> Iterator[None]:
    """The agents file has other tables, which workers take without a restart."""
    agents = terminal.folder / "agents.toml"
    before = agents.read_text()
    agents.write_text(APPROVAL + PAYER.format(url=model.url))
    yield
    agents.write_text(before)
    with connect(terminal.settings["redis_url"]) as redis:
        until(lambda: "secretary" in all_agents(WorkerPresence(redis).list_alive()), what="its agents again")


@pytest.mark.long
@pytest.mark.usefixtures("payer")
def test_tool_call_waits_for_its_approval(terminal: Terminal, model: StubModel) -> None:
    model.answers(
        completion(tool=("pay", {"amount": 3})),
        completion(tool=("files_write_file", {"path": "a", "text": "b"}), call="call-2"),
        completion("It is paid and written."),
    )
    said = run_program(
        terminal,
        """
        import time

        from symposia import Client

        client = Client()
        while "payer" not in client.known_agents():
            time.sleep(0.02)
        people = [{"participant_id": "payer"}]
        collab = {"title": "A", "purpose": "B", "mode": "round_robin", "participants": people}
        job = client.submit(collab, stop={"max_turns": 1}, approvers=["ann"])
        for question in job.questions():
            print(question.asked)
            job.reply("ann", "approve", token=question.reply_token)
        print(job.result(timeout=40).text)
        """,
    )
    assert said.splitlines() == ["('ann',)", "('ann',)", "It is paid and written."]
    assert "paid 3" in str(model.asked[-1].body)
    assert "wrote a" in str(model.asked[-1].body)


@pytest.mark.long
def test_stream_shows_what_a_model_writes(terminal: Terminal, model: StubModel) -> None:
    model.answers(completion("The room is booked for you."))
    said = run_program(
        terminal,
        """
        import threading
        import time
        from pathlib import Path

        from symposia import submit
        from symposia.state.redis.connect import connect
        from symposia.state.redis.keys import session_key

        people = [{"participant_id": "gated"}, {"participant_id": "secretary"}]
        collab = {"title": "A", "purpose": "B", "mode": "round_robin", "participants": people}
        job = submit(collab, stop={"max_turns": 2}, parameters={"gate": "reads", "gate_turn": 1})

        def open_gate():
            while not redis.exists(session_key(job.id, "listening")):
                time.sleep(0.02)  # a model streams only if there is a reader before its turn
            Path("reads").touch()
        """,
        f'redis = connect("{terminal.settings["redis_url"]}")',
        """
        threading.Thread(target=open_gate).start()
        redraw = print
        """,
        STREAM,
    )
    first, *drafts, last = said.splitlines()
    assert first == last == "[]"
    assert drafts
    assert all(it.startswith("['The") for it in drafts)
