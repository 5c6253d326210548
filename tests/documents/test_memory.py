"""Dialog memory: the programs of docs/memory.md on a worker."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from documents.pages import Page
from documents.programs import run_here, run_program
from processes.terminal import Terminal
from symposia import Scope
from symposia.agents.registry.agents_file import read_agents_file
from symposia.agents.registry.registry import Registry
from symposia.memory.rooms import DialogMemory
from symposia.models.memory import sentences, services
from symposia.models.memory.checking import check_learned, memory_note
from symposia.models.memory.forms import service_forms
from symposia.models.memory.learned import Learned
from symposia.models.memory.recall import MemoryView
from symposia.models.memory.sentences import ModelParser
from symposia.models.prompts.memory import memory_facts, memory_form

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/memory.md")
SESSION = PAGE.take("python", 'said={"return_date"')
CONNECTOR = PAGE.take("python", "def connector")
PROGRAM = PAGE.take("python", "DialogMemory(")
SERVICE = PAGE.take("python", "register_service")
RECALLING = PAGE.take("python", 'recall="user"')
TEXTS = PAGE.take("python", "Client().recollections")
MEM0 = PAGE.take("python", "Mem0Recollections")
FUNCTIONS = PAGE.take("python", "FunctionRecollections")
PARSER = PAGE.take("python", "register_parser")
PARSER_TABLES = PAGE.take("toml", "[parser]")
FORM = PAGE.take("text", "What a user wants")
FACTS = PAGE.take("text", "Today is")
NOTE = PAGE.take("text", "REMEMBER departure_date")
URL = "redis://localhost:6379/0"

#: The module of the agents: a search that finds what it is asked for.
MODULE = """
from types import SimpleNamespace

import symposia


def search(**parameters):
    return SimpleNamespace(text=" ".join(f"{name}={value}" for name, value in sorted(parameters.items())))


@symposia.agent("parser")
def parser(turn):
    return "The user wants to travel."


"""

PLANNER = """
[agents.planner]
kind = "scripted"
replies = ["Known: {recalled}\\nNOTE: Flies in March."]
"""


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {
        "agents.toml": f'modules = ["my_agents"]\n{PLANNER}',
        "my_agents.py": f'{MODULE}{CONNECTOR}\n\nsymposia.agent("connector")(connector)\n',
    }


@pytest.mark.long
def test_session_remembers_what_was_said(terminal: Terminal) -> None:
    said = run_program(
        terminal,
        SESSION,
        "print(job.result(timeout=40).dialog.messages[1].content)",
        PROGRAM.replace(URL, terminal.settings["redis_url"]),
        SESSION,
        """
        print(job.result(timeout=40).dialog.messages[1].content)
        print(sorted(memory.get(42, "room_123")["parameters"].items()))
        """,
    )
    assert said.splitlines() == [
        "Please tell me: from, to",
        "from=Nairobi passenger_count=1 return_date=2026-02-20 to=London",
        "[('from', 'Nairobi'), ('max_price', 150000), ('round_trip', True), ('to', 'London')]",
    ]


def test_program_prints_the_merged_parameters(redis_url: str) -> None:
    assert URL in PROGRAM
    names = run_here(PROGRAM.replace(URL, redis_url))
    *_, call, shown = PROGRAM.splitlines()
    assert shown == f"# {eval(call, names)}"  # noqa: S307 - our own documentation


@pytest.mark.long
def test_registered_service_is_known(terminal: Terminal) -> None:
    memory = f'memory = DialogMemory("{terminal.settings["redis_url"]}")'
    said = run_program(
        terminal,
        SERVICE,
        "from symposia import DialogMemory",
        memory,
        """
        memory.store(43, "room", {"city": "Nairobi", "nights": "2"}, service="hotel")
        print(memory.get(43, "room")["parameters"])
        """,
    )
    assert said == "{'city': 'Nairobi', 'nights': 2}\n"


@pytest.mark.long
def test_session_recalls_texts_of_its_user(terminal: Terminal) -> None:
    *_, recall, forget = TEXTS.splitlines()
    said = run_program(
        terminal,
        TEXTS.replace(forget, ""),
        f"print({recall})",
        RECALLING,
        """
        print(job.result(timeout=40).dialog.messages[0].content)
        print([it.text for it in memory.recall("user:42")])
        """,
        f"print({forget})",
    )
    assert said.splitlines() == [
        "Prefers the window seat.",
        "Known: Prefers the window seat.",
        "NOTE: Flies in March.",
        "['Flies in March.', 'Prefers the window seat.']",
        "2",
    ]


class Table(list[dict[str, str]]):
    """A vector store with one vector."""

    def search(self, _query: str, *, filter: dict[str, str], limit: int) -> list[SimpleNamespace]:  # noqa: A002
        hits = [row for row in self if row["scope"] == filter["scope"]]
        return [SimpleNamespace(**row) for row in hits][:limit]

    def add(self, rows: list[dict[str, str]]) -> None:
        self.extend(rows)


def test_stores_of_the_page_are_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    scope = Scope.of("user", 42)
    store = run_here(FUNCTIONS, table=Table())["memory"]
    store.remember(["tea"], scope=scope, source="s")
    assert [it.text for it in store.recall("tea", scope=scope, limit=1)] == ["tea"]

    class Memory:
        def search(self, query: str, *, user_id: str, limit: int) -> dict[str, list[dict[str, str]]]:
            return {"results": [{"memory": f"{user_id}: {query}"}][:limit]}

    monkeypatch.setitem(sys.modules, "mem0", SimpleNamespace(Memory=Memory))  # type: ignore[arg-type]
    store = run_here(MEM0)["memory"]
    assert [it.text for it in store.recall("tea", scope=scope, limit=1)] == ["user::42: tea"]


def test_parser_reads_the_follow_up(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "_registered", [])
    run_here(PARSER)
    memory, year = DialogMemory(redis_url), datetime.now(UTC).year
    memory.store(44, "r", "Find me flights from Nairobi to London on February 10")
    merged = memory.merge(44, "r", "What about returning on Feb 20?")
    assert merged == {
        "from": "Nairobi",
        "to": "London",
        "departure_date": f"{year}-02-10",
        "return_date": f"{year}-02-20",
    }


def test_parser_of_an_agents_file_is_an_agent(tmp_path: Path) -> None:
    path = tmp_path / "agents.toml"
    path.write_text(PARSER_TABLES)
    registry = Registry(read_agents_file(path))
    assert registry.parser == ModelParser("trip_parser")
    assert [problem for problem in registry.check() if problem.entry == "parser"] == []


def test_prompts_of_the_page_are_those_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_SERVICES", dict(services._SERVICES))
    hotel = services.find_service(run_here(SERVICE) and "hotel")
    view = MemoryView(
        service="hotel",
        parameters={"city": "Nairobi", "phone": "+254712345678"},
        ask=("city",),
        forms=service_forms([hotel]),
        today=date(2026, 2, 6),
    )
    assert f"{memory_form(view)}\n" == FORM
    assert "\n".join([*memory_facts(view), ""]) == FACTS
    travel = view.changed(service="travel", forms=service_forms([services.find_service("travel")]))
    wrong = check_learned(Learned(parameters={"departure_date": "next Friday"}), travel)
    assert NOTE in memory_note(wrong.faults)
