"""A runtime without a broker, with agents of a model server that counts its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from servers.model_stub import StubModel
from sessions.inline_installation import InlineInstallation

AGENTS = """
[models.stub]
model = "{model}"
base_url = "{url}"

[tools.add]
callable = "stub_agents.tools:add"

[tools.picky]
callable = "stub_agents.tools:picky"

[agents.texting]
kind = "llm"
model = "stub"
structured = false
instructions = "{instructions}"
tools = ["add", "picky"]

[agents.caller]
kind = "python"
callable = "stub_agents.replay:{callable}"

[agents.reader]
kind = "scripted"
replies = ["{reply}"]
"""

DEFAULTS = {
    "model": "stub",
    "instructions": "You are brief.",
    "callable": "counted",
    "reply": "I read {last}",
}


@pytest.fixture
def model() -> Iterator[StubModel]:
    with StubModel() as stub:
        yield stub


@pytest.fixture
def agents(model: StubModel) -> Callable[..., str]:
    """The agents file, with other values than the usual ones."""

    def text(**changed: str) -> str:
        values = {"url": model.url, **DEFAULTS, **changed}
        found = AGENTS
        for name, value in values.items():
            found = found.replace(f"{{{name}}}", value)
        return found

    return text


@pytest.fixture
def make_installation(
    tmp_path: Path, redis_url: str, agents: Callable[..., str]
) -> Iterator[Callable[..., InlineInstallation]]:
    made: list[InlineInstallation] = []

    def make(registry: str = "", **settings: Any) -> InlineInstallation:
        registry = registry or agents()
        made.append(InlineInstallation(tmp_path, redis_url, registry, **{"record_calls": True, **settings}))
        return made[-1]

    yield make
    for it in made:
        it.close()


@pytest.fixture
def installation(make_installation: Callable[..., InlineInstallation]) -> InlineInstallation:
    """An installation that records the calls of its sessions."""
    return make_installation()


@pytest.fixture
def change_agents(tmp_path: Path, agents: Callable[..., str]) -> Callable[..., None]:
    """Writes another agents file."""
    return lambda **changed: (tmp_path / "agents.toml").write_text(agents(**changed)) and None
