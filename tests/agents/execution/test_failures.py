"""Where an exception of an agent was raised: in its own code, with no values and no secrets."""

from __future__ import annotations

import json
import sys

import pytest

from scaling import patient
from symposia.agents.execution.failures import MAX_TRACEBACK
from symposia.agents.execution.threads import DaemonThreadPool
from symposia.agents.kinds.python import PythonAgent, load_callable
from symposia.models.errors import AgentError, AgentFailed

CODE = """
import asyncio
import json

from symposia.models.errors import AgentFailed


def direct(turn):
    password = "hunter2"
    raise ValueError("no disk")


async def awaited(turn):
    await asyncio.sleep(0)
    return inner()


def inner():
    return json.loads("{")


def told(turn):
    raise AgentFailed("not today")


def leaking(turn):
    raise RuntimeError("api_key=abcdef12345 and s3cret")


def endless(turn):
    raise RuntimeError("x" * 1_000_000)


def recursive(turn):
    return recursive(turn)


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def mute(turn):
    raise Mute


def wrong(turn):
    return 17
"""


@pytest.fixture(scope="module")
def location(tmp_path_factory):
    """The line of a text in the module of the agents."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "rooms").mkdir()
    (folder / "rooms" / "__init__.py").write_text("")
    (folder / "rooms" / "speakers.py").write_text(CODE)
    (folder / "rooms" / "broken.py").write_text("import json\n\nraise KeyError('setting')\n")
    sys.path.insert(0, str(folder))
    yield lambda text: f"rooms/speakers.py:{CODE.splitlines().index(text) + 1}"
    sys.path.remove(str(folder))


@pytest.fixture
def fails(location, runner, turn):
    def fails(name: str) -> AgentError:
        agent = PythonAgent(load_callable(f"rooms.speakers:{name}"), threads=DaemonThreadPool(limit=1))
        with pytest.raises(AgentError) as failed:
            runner.run(agent, turn(), timeout_s=patient(20))
        return failed.value

    return fails


@pytest.mark.parametrize(
    ("name", "error_type", "line"),
    [
        ("direct", "ValueError", '    raise ValueError("no disk")'),
        ("awaited", json.JSONDecodeError.__name__, '    return json.loads("{")'),
        ("told", "AgentFailed", '    raise AgentFailed("not today")'),
        ("recursive", "RecursionError", "    return recursive(turn)"),
        ("mute", "Mute", "    raise Mute"),
    ],
)
def test_origin_is_the_innermost_line_of_user_code(fails, location, name, error_type, line):
    origin = fails(name).origin
    assert (origin.error_type, origin.place) == (error_type, location(line))
    assert line.strip() in origin.traceback


def test_traceback_has_no_values_or_secrets(fails):
    assert "hunter2" not in fails("direct").origin.traceback
    error = fails("leaking")
    assert "abcdef12345" not in f"{error} {error.origin.traceback}"


def test_a_traceback_is_bounded(fails):
    for name in ("endless", "recursive"):
        assert len(fails(name).origin.traceback) <= MAX_TRACEBACK


def test_exception_without_a_text_is_retryable(fails):
    error = fails("mute")
    assert str(error).startswith("Mute: its message cannot be read (")
    assert error.retryable


def test_unraised_error_has_no_origin(fails):
    assert fails("wrong").origin is None


def test_failed_module_import_names_its_place(location):
    with pytest.raises(AgentFailed) as failed:
        load_callable("rooms.broken:any")
    assert failed.value.origin.place == "rooms/broken.py:3"
