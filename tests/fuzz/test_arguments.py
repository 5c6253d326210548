"""What Python callers, operators and people at a terminal hand over: taken, or refused in one line."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from documents.hammer import JSON, TEXTS, WORDS, depths, garbled, hammer, nearly
from processes.terminal import Terminal
from symposia.client import Client
from symposia.config.settings import Settings, load_settings
from symposia.models.errors import InvalidInput
from symposia.models.sessions.how_to_run import HowToRun

COLLAB: dict[str, Any] = {
    "title": "t",
    "purpose": "p",
    "mode": "pair",
    "participants": [{"participant_id": "ann"}, {"participant_id": "bob", "role_id": "coder"}],
}
HOW: dict[str, Any] = {
    "agents": {"ann": "x", "bob": {"agent": "y", "temperature": 1}},
    "stop": {"max_rounds": 2},
    "options": {"max_stalls": 3},
    "policy": {"attempts": 2},
    "policies": {"bob": {"backoff_s": 0.5}},
    "messages": ["hello", {"role": "user", "content": "x"}],
    "parameters": {"a": [1]},
    "thread_id": None,
}
#: What only Python can hand over.
OBJECTS = (
    JSON
    | st.binary(max_size=5)
    | st.floats()
    | st.sampled_from(
        [object(), print, int, decimal.Decimal("NaN"), {1, 2}, {1: 2}, {None: 3}, (1, 2), range(3), 1j]
    )
    | st.builds(iter, st.lists(TEXTS, max_size=2))
    | st.builds(lambda: {"a": object()})
)


#: Keyword parameters of `submit`.
OF_SUBMIT = {*signature(Client.submit).parameters} - {"self", "collab"}


@pytest.fixture
def client(redis_url: str, tmp_path: Path) -> Client:
    return Client(load_settings(redis_url=redis_url, broker_url=redis_url, data_dir=tmp_path))


@depths
def test_fuzzed_submissions(client: Client, examples: int) -> None:
    inputs = st.tuples(nearly(COLLAB, values=OBJECTS), nearly(HOW, values=OBJECTS))

    def use(given: tuple[Any, Any]) -> None:
        collab, how = given
        if not isinstance(how, dict) or not {*how} <= OF_SUBMIT:
            return  # Python itself refuses these
        job = client.submit(collab, **how)
        assert (job.state().status, len(list(job.messages()))) == ("active", job.state().messages)
        job.cancel()

    hammer(inputs, use, examples=examples)


@depths
@pytest.mark.parametrize("name", sorted(HowToRun.__annotations__))
def test_fuzzed_options_of_submissions(client: Client, name: str, examples: int) -> None:
    hammer(OBJECTS, lambda value: client.submit(COLLAB, **{name: value}).cancel(), examples=examples // 4)


@depths
def test_fuzzed_session_ids(client: Client, examples: int) -> None:
    hammer(TEXTS, lambda text: client.get_job(text).state(), examples=examples)


URLS = garbled(
    st.sampled_from(
        [
            "redis://:pw@127.0.0.1:6379/0?socket_timeout=3",
            "rediss://u:p@[::1]:1/2?ssl_cert_reqs=none",
            "amqp://h//",
        ]
    )
)


@depths
@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_fuzzed_settings(name: str, examples: int) -> None:
    def use(value: Any) -> None:
        load_settings(**{name: value})

    hammer(OBJECTS | URLS, use, examples=examples // 4)


@depths
def test_fuzzed_variables_of_settings(examples: int) -> None:
    names = st.sampled_from(sorted(Settings.model_fields))
    texts = (TEXTS | URLS).filter(lambda text: "\0" not in text)

    def use(given: tuple[str, str]) -> None:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv(f"SYMPOSIA_{given[0].upper()}", given[1])
            load_settings()

    hammer(st.tuples(names, texts), use, examples=examples)


@pytest.fixture
def terminal(tmp_path: Path, redis_url: str) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, {"data_dir": str(tmp_path / "data"), "redis_url": redis_url})
    yield terminal
    terminal.close()


#: Commands that end by themselves and start nothing.
COMMANDS = [
    "submit",
    "list",
    "show",
    "graph",
    "export",
    "suspend",
    "resume",
    "stop",
    "cancel",
    "--help",
    "-h",
    "--version",
]
OPTIONS = [
    "--json",
    "--status",
    "active",
    "--mode",
    "pair",
    "--limit",
    "3",
    "--last",
    "0",
    "--format",
    "dot",
    "--reason",
    "--",
]
FILES = ["session.yaml", "folder", "-", "missing", "/dev/null", "/proc/self/mem"]
ARGUMENTS = st.lists(
    st.sampled_from(COMMANDS) | st.sampled_from(OPTIONS) | st.sampled_from(FILES) | TEXTS,
    min_size=1,
    max_size=6,
)


@depths
def test_fuzzed_command_line_arguments(terminal: Terminal, examples: int) -> None:
    (terminal.folder / "session.yaml").write_text("title: t\n")
    (terminal.folder / "folder").mkdir()

    def use(arguments: list[str]) -> None:
        starters = {"run", "up", "worker", "demo", "watch", "doctor"}
        if starters & set(arguments) or "--debug" in arguments:
            return
        said = terminal.call(*arguments)
        assert said.code in {0, 1, 2, 3, 4}, said
        assert "Traceback" not in said.err
        assert said.code == 0 or said.err, said

    hammer(ARGUMENTS, use, examples=examples)


def test_only_own_errors_are_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        hammer(st.just(0), lambda zero: 1 // zero, examples=1)
    hammer(WORDS, lambda word: (_ for _ in ()).throw(InvalidInput("f", word, "r")), examples=10)
