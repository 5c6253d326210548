"""Sessions and agents of `symposia demo`.

Each mode has a session file in this folder, in the form that `symposia run` reads, with the recorded answers of its
participants. The agent `recorded` plays them; `live` is a model that answers in place of it. The agent `recorded_lead`
decides or reviews, which is too much for the local model, so only another model takes its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ....agents.registry.registry import Registry
from ....config.settings import read_variable
from ....models.errors import InvalidInput
from ....models.modes import modes
from ....models.sessions.submission import Submission
from ....models.text.paths import read_toml

RECORDED = "recorded"
LOCAL = "local"

_FOLDER = Path(__file__).parent
_LIVE = "live"
_AGENTS = """
[agents.recorded]
kind = "scripted"

[agents.recorded_lead]
kind = "scripted"
"""
_SETTINGS = {LOCAL: "temperature = 0.4\nmax_tokens = 60\nwindow = 3"}
_LARGE_SETTINGS = "max_tokens = 4000"


def demo_sessions(agents: str = RECORDED, only: str | None = None) -> list[Submission]:
    """Return the sessions of the demo in the order of display.

    Args:
        agents: `recorded`, `local`, or a `provider:model`.
        only: Mode whose session is returned; None: all.
    """
    files = {mode.name: _FOLDER / f"{mode.name}.toml" for mode in modes() if only in (None, mode.name)}
    return [_session(read_toml(file), agents) for file in files.values() if file.is_file()]


def _session(document: dict[str, Any], agents: str) -> Submission:
    participants = [
        {**participant, "agent": _binding(participant["agent"], agents)}
        for participant in document["participants"]
    ]
    return Submission.from_document({**document, "participants": participants})


def _binding(binding: Mapping[str, Any], agents: str) -> dict[str, Any]:
    if agents == RECORDED or (agents == LOCAL and binding["agent"] != RECORDED):
        return dict(binding)
    return {"agent": _LIVE, "instructions": binding["instructions"]}


def write_agents_file(path: Path, agents: str) -> None:
    """Write the agents file of the demo.

    Args:
        path: The file.
        agents: `recorded`, `local`, or a `provider:model`.
    """
    text = _AGENTS
    if agents != RECORDED:
        settings = _SETTINGS.get(agents, _LARGE_SETTINGS)
        text += f'\n[agents.{_LIVE}]\nkind = "llm"\nmodel = {json.dumps(agents)}\n{settings}\n'
    path.write_text(text, encoding="utf-8")


def check_live_model(model: str) -> None:
    """Check a `provider:model` without a request.

    Raises:
        InvalidInput: The provider is unknown, or its key or package is missing.
    """
    with TemporaryDirectory(prefix="symposia-demo-") as folder:
        file = Path(folder) / "agents.toml"
        write_agents_file(file, model)
        problems = Registry.load(file, getenv=read_variable).check()
    for problem in problems:
        if problem.entry == f"agents.{_LIVE}":
            raise InvalidInput("--agents", model, problem.rule)
