"""A mode beside the five, made of one value: it runs, and the command line shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from live import result_of
from servers.model_stub import StubModel, completion
from sessions.inline_installation import InlineInstallation
from symposia.cli.app import build_app
from symposia.cli.sessions.progress import expected_turns
from symposia.models.modes import Mode, add_mode, modes, registry
from symposia.models.modes.texts.common import ModeTexts
from symposia.models.protocol import collab
from symposia.models.protocol.collab import Collab, CollabMode
from symposia.models.sessions.plan import Plan, PlannedTurn, SessionView, Step, Wait
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.workers.local.demo import demo_sessions

REGISTRY = """
[agents.say]
kind = "scripted"
replies = ["first", "second"]

[models.house]
model = "stub"
base_url = "{url}"

[agents.writer]
kind = "llm"
model = "house"
"""


def _plan(view: SessionView) -> Plan:
    """Everyone speaks against the order of the roster."""
    if view.open:
        return Wait()
    roster, position = view.ids()[::-1], int(view.state.get("position", 0))
    return Step(
        turns=(PlannedTurn(participant=roster[position]),),
        state={"position": (position + 1) % len(roster)},
        ends_round=position == len(roster) - 1,
    )


RULES = "You speak in turn, from the last of you to the first."
BACKWARDS = Mode(
    name="backwards",
    summary="Everyone speaks, the last of the roster first.",
    texts=ModeTexts(rules=lambda _turn: RULES),
    plan=_plan,
    default_stop=MaxRounds(2),
    one_turn_each=True,
)


@pytest.fixture
def mode() -> Iterator[CollabMode]:
    name = add_mode(BACKWARDS)
    yield name
    del registry._MODES[BACKWARDS.name], collab._ADDED[BACKWARDS.name]


@pytest.fixture
def installation_and_stub(
    tmp_path: Path, redis_url: str, mode: CollabMode
) -> Iterator[tuple[InlineInstallation, StubModel]]:
    with StubModel() as stub:
        installation = InlineInstallation(tmp_path, redis_url, REGISTRY.format(url=stub.url))
        yield installation, stub
        installation.close()


def test_added_mode_runs_with_scripted_agents(installation_and_stub):
    installation, _ = installation_and_stub
    job = installation.submit("backwards", {"ann": "say", "bob": "say", "cyd": "say"})
    installation.work()
    spoken = [(message.speaker, message.content) for message in job.messages()]
    names = ["cyd", "bob", "ann"]
    assert spoken == [(name, "first") for name in names] + [(name, "second") for name in names]
    result = result_of(job)
    assert (result.reason, result.rounds, result.collab.mode) == ("max_rounds", 2, "backwards")
    assert Collab.model_validate(result.collab.to_wire()).mode is result.collab.mode


@pytest.mark.real_models
def test_mode_prompt_reaches_models(installation_and_stub):
    installation, stub = installation_and_stub
    stub.answers(completion("b"), completion("a"))
    job = installation.submit("backwards", {"ann": "writer", "bob": "writer"}, stop=MaxRounds(1))
    installation.work()
    assert [message.content for message in job.messages()] == ["b", "a"]
    assert all(RULES in str(request.body) for request in stub.asked)


def test_command_line_knows_the_added_mode(installation_and_stub):
    installation, _ = installation_and_stub
    job = installation.submit("backwards", {"ann": "say", "bob": "say"})
    environment = {"SYMPOSIA_REDIS_URL": installation.settings.redis_url.get_secret_value()}
    environment["SYMPOSIA_DATA_DIR"] = str(installation.settings.data_dir)
    said = CliRunner().invoke(build_app(), ["list", "--mode", "backwards", "--json"], env=environment)
    assert (said.exit_code, job.id in said.output) == (0, True), repr(said.exception)
    assert expected_turns(job.collab(), job._facts.spec) == 4


def test_demo_leaves_the_added_mode_out(mode):
    assert "backwards" not in [session.collab.mode for session in demo_sessions()]


def test_used_mode_name_is_refused(mode):
    with pytest.raises(ValueError, match="'backwards' is registered already"):
        add_mode(BACKWARDS)


def test_an_unknown_mode_is_refused():
    assert "backwards" not in [known.name for known in modes()]
    with pytest.raises(ValueError, match="backwards"):
        CollabMode("backwards")
