"""Sessions that must give an output, on real workers."""

from __future__ import annotations

import asyncio
import json

import pytest
from pydantic import field_validator

from checks.expiry import wrong_keys
from live import REGISTRY, result_of, until
from scaling import patient
from stub_agents.typed import GOOD, Report
from symposia import AsyncClient, Client
from symposia.cli.sessions.render import details_json
from symposia.config.settings import load_settings
from symposia.jobs.archived import ArchivedJob
from symposia.jobs.reading import connections_of
from symposia.models.errors import InvalidInput
from symposia.models.sessions.options import FailurePolicy
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns, TextSeen

AGENTS = "".join(
    f'\n[agents.{name}]\nkind = "python"\ncallable = "stub_agents.typed:{name}"\nwindow = 100\n'
    for name in ("reporter", "writer", "clumsy", "hopeless", "finisher", "quitter")
)
PROGRAM = """
[agents.program]
kind = "command"
argv = ["{python}", "-c", "import json, sys; print(json.dumps({'title': json.load(sys.stdin)['output_schema']['title']}))"]
"""


@pytest.fixture
def typed(installation):
    (installation.folder / "agents.toml").write_text(REGISTRY + AGENTS + PROGRAM)
    installation.start_worker()
    return installation


def required(installation):
    """Speakers of the requests for the output, in order."""
    return [call["me"] for call in installation.calls() if call.get("required")]


LEAD = {"roles": {"lead": "orchestrator"}}
PLAYS = {
    "round_robin, last turn": (
        "round_robin",
        {"ada": "say", "ben": "reporter"},
        {"stop": MaxRounds(2)},
        "ben",
    ),
    "round_robin, named": (
        "round_robin",
        {"ada": "reporter", "ben": "say"},
        {"stop": MaxTurns(4), "output_by": "ada"},
        "ada",
    ),
    "round_robin, unforeseen end": (
        "round_robin",
        {"ada": "writer", "ben": "writer"},
        {"stop": TextSeen("hm", by="ben")},
        "ben",
    ),
    "broadcast, aggregator": (
        "broadcast",
        {"ada": "say", "ben": "say", "cleo": "reporter"},
        {"options": {"aggregator": "cleo"}},
        "cleo",
    ),
    "broadcast, last of the roster": ("broadcast", {"ada": "say", "ben": "reporter"}, {}, "ben"),
    "orchestrated, closing turn": ("orchestrated", {"lead": "quitter", "ada": "say"}, LEAD, "lead"),
    "pair, closing turn": ("pair", {"ada": "say", "ben": "quitter"}, {}, "ben"),
    "pair, driver": ("pair", {"ada": "reporter", "ben": "quitter"}, {"output_by": "ada"}, "ada"),
    "swarm, closing turn": ("swarm", {"ada": "reporter"}, {}, "ada"),
    "swarm, named": ("swarm", {"ada": "say", "ben": "writer"}, {"output_by": "ben"}, "ben"),
}


def test_every_mode_gives_an_object(typed):
    jobs = {
        name: typed.submit(
            mode, agents, output=Report, parameters={"log": str(typed.folder / f"{at}.log")}, **how
        )
        for at, (name, (mode, agents, how, _)) in enumerate(PLAYS.items())
    }
    for at, (name, job) in enumerate(jobs.items()):
        result = result_of(job)
        calls = [json.loads(line) for line in (typed.folder / f"{at}.log").read_text().splitlines()]
        asked = [call["me"] for call in calls if call.get("required")]
        assert (name, result.ok, result.output, asked) == (name, True, Report(**GOOD), [PLAYS[name][3]])
        assert json.loads(result.text.strip("`").partition("json\n")[2] or result.text) == GOOD


@pytest.mark.long
@pytest.mark.parametrize("mode", ["orchestrated", "pair"])
def test_finish_may_carry_the_output(typed, mode):
    agents = (
        {"lead": "finisher", "ada": "say"} if mode == "orchestrated" else {"ada": "say", "lead": "finisher"}
    )
    result = result_of(typed.submit(mode, agents, output=Report, roles={"lead": "orchestrator"}))
    assert (result.output, result.text, required(typed)) == (Report(**GOOD), "We are done.", [])


@pytest.mark.long
def test_speaker_is_asked_again_once(typed):
    result = result_of(typed.submit("round_robin", {"ada": "clumsy"}, output=Report, stop=MaxRounds(1)))
    assert (result.output, required(typed), result.turns) == (Report(**GOOD), ["ada", "ada"], 1)
    assert "$.title: 7 is not of type 'string'" in typed.calls()[-1]["instruction"]


@pytest.mark.long
def test_invalid_output_ends_the_session_with_its_text(typed):
    result = result_of(typed.submit("round_robin", {"ada": "hopeless"}, output=Report, stop=MaxRounds(1)))
    assert not result.ok
    assert (result.reason, result.output) == ("failed", None)
    assert result.detail == (
        "ada: must be valid under the JSON schema of the session's output: "
        "$: neither the answer nor a block of code in it is JSON"
    )
    assert result.text == "I would rather not, says ada"
    assert required(typed) == ["ada", "ada"]


@pytest.mark.long
def test_failure_policy_decides_about_an_invalid_output(typed):
    skip = typed.submit(
        "round_robin",
        {"ada": "say", "ben": "hopeless"},
        output=Report,
        stop=MaxRounds(1),
        policy=FailurePolicy(then="skip"),
    )
    result = result_of(skip)
    assert (result.ok, result.output, result.text) == (True, None, "I would rather not, says ben")
    assert result.detail.endswith("no output")
    instead = typed.submit(
        "round_robin",
        {"ada": "hopeless"},
        output=Report,
        stop=MaxRounds(1),
        policy=FailurePolicy(then="substitute", substitute="reporter"),
    )
    assert result_of(instead).output == Report(**GOOD)
    (refused,) = [event for event in instead.collab().events if event.event_type == "output.refused"]
    assert refused.data["text"] == "I would rather not, says ada"


@pytest.mark.long
def test_program_prints_the_output(typed):
    result = result_of(typed.submit("round_robin", {"ada": "program"}, output=Report, stop=MaxRounds(1)))
    assert result.output == Report(title="Report")


@pytest.mark.long
def test_schema_gives_json_data_in_any_client(typed):
    schema = Report.model_json_schema()
    job = typed.submit("round_robin", {"ada": "reporter"}, output=schema, stop=MaxRounds(1))
    assert result_of(job).output == GOOD
    assert typed.client.get_job(job.id).result().output == GOOD


@pytest.mark.long
def test_rule_in_python_is_checked_when_the_output_is_read(typed):
    class Strict(Report):
        @field_validator("title")
        @classmethod
        def refuse(cls, title):
            raise ValueError(f"{title} is not good enough")

    job = typed.submit("round_robin", {"ada": "reporter"}, output=Strict, stop=MaxRounds(1))
    result = result_of(job)
    with pytest.raises(InvalidInput, match=r"^output\.title: .*is not good enough"):
        _ = result.output
    assert result.output_data == GOOD


@pytest.mark.long
def test_verdict_of_a_pair_is_in_the_result(typed):
    agents = {"ada": "say", "ben": "finisher"}
    verdict = result_of(typed.submit("pair", agents)).verdict
    assert (verdict.by, verdict.approved, verdict.reason) == ("ben", True, "enough")
    verdict = result_of(typed.submit("pair", agents, stop=MaxRounds(1))).verdict
    assert (verdict.approved, verdict.reason) == (False, "Go on, ada.")


@pytest.mark.long
def test_archive_and_show_keep_the_output(installation, monkeypatch):
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")
    (installation.folder / "agents.toml").write_text(REGISTRY + AGENTS)
    installation.start_worker()
    job = installation.submit("round_robin", {"ada": "reporter"}, output=Report, stop=MaxRounds(1))
    result_of(job)
    assert details_json(job)["output"] == GOOD
    with installation.client as client:
        reader = until(client.archived, what="there is an archive")
        until(lambda: reader.has_ended(job.id), what="it is archived")
        until(lambda: not wrong_keys(client.redis_url), what="its keys expire")  # the worker's next step
        assert ArchivedJob(job.id, reader, connections_of(job)).result().output == GOOD


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"output": {"$ref": "http://x"}}, r"^output\.\$ref: must start with `#`"),
        ({"output": {}, "output_by": "zoe"}, r"^output_by: must be the id of a participant: ada"),
        ({"output_by": "ada"}, r"^output_by: must be set together with `output`"),
        ({"output": int}, r"^output: must be a pydantic model class or a JSON schema"),
    ],
)
def test_bad_output_is_refused_when_it_is_submitted(redis_url, how, said):
    collab = {
        "title": "t",
        "purpose": "p",
        "mode": "round_robin",
        "participants": [{"participant_id": "ada"}],
    }
    with Client(load_settings(redis_url=redis_url)) as client:
        with pytest.raises(InvalidInput, match=said):
            client.submit(collab, **how)
        assert client.jobs() == []


@pytest.mark.long
def test_async_client_gives_an_object(typed):
    async def run():
        async with AsyncClient(load_settings(**typed.settings)) as client:
            collab = {
                "title": "t",
                "purpose": "p",
                "mode": "round_robin",
                "participants": [{"participant_id": "ada"}],
            }
            job = await client.submit(collab, agents={"ada": "reporter"}, output=Report, stop=MaxRounds(1))
            return await job.result(timeout=patient(60))

    assert asyncio.run(run()).output == Report(**GOOD)
