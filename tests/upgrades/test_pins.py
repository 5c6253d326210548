"""What a change of the code's structure must not change, because installed programs, stored data or documents rely on it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from symposia import Attachment, Client, Decision, NewItem, Question, Usage
from symposia.agents.kinds.command import program_identity
from symposia.agents.registry.built_in import BUILT_IN
from symposia.config.settings import load_settings
from symposia.models.sessions.options import AgentBinding
from symposia.models.sessions.plan import PlannedTurn
from symposia.models.sessions.recorded import RecordedTurn
from symposia.models.turns.items import WorkItem
from symposia.models.turns.turn import OutcomeKind, TurnResult
from symposia.models.turns.waiting import ParkedQuestion
from symposia.state.sessions.store import SessionStore
from symposia.workers.worker_app import create_worker_app

ID = "5a8a6e0e-3a56-4a5b-9c50-2e6d3b0c0f{:02d}"
ADA, BEN = {"participant_id": "ada"}, {"participant_id": "ben", "role_id": "critic", "display_name": "Ben"}
#: Submissions, and their digests: the same submission again must be the same session after an upgrade.
SUBMISSIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ddabf979d462607796fc4e9c4ceb7c56807c1b2b85f0f7ccbc27838fbbc51fa1": (
        {"mode": "round_robin", "participants": [ADA]},
        {},
    ),
    "35e927908a7cd863d7a1f080d271d3c13a20692f8ba61a53e981e26084340bb5": (
        {"mode": "pair", "participants": [ADA, BEN], "meta": {"tags": ["x"]}},
        {
            "agents": {"ada": "echo", "ben": {"agent": "echo", "parameters": {"replies": ["No."]}}},
            "approvers": ["cyd"],
            "stop": {"max_rounds": 2},
            "policy": {"attempts": 2, "then": "skip"},
            "policies": {"ben": {"attempts": 1}},
            "limits": {"turn_tokens": 100},
            "tenant": "acme",
            "messages": ["Hello."],
            "parameters": {"tone": "kind"},
            "output": {"type": "object"},
            "attachments": [Attachment.of("a.txt", "text")],
        },
    ),
    "c95f91ac721ce43e6334208c8b47a3f4cda31a9c64c1e1648d52d24b7972d943": (
        {"mode": "swarm", "participants": [ADA, BEN]},
        {"items": [{"text": "one", "id": "a"}, {"text": "two", "after": ["a"]}], "reducer": "ada"},
    ),
}
RESULT = TurnResult(
    number=3,
    participant="ada",
    kind=OutcomeKind.MESSAGE,
    decision=Decision(next=("ben",), instructions={"ben": "short"}),
    items=(NewItem(text="one", id="a"),),
    usage=Usage(input_tokens=1, requests=1),
)
PLANNED = PlannedTurn(participant="ada", item=WorkItem(item_id="a", text="one"))
_PLANNED = '{"participant":"ada","item":{"item_id":"a","text":"one"}}'
_RESULT = (
    '{"number":3,"participant":"ada","kind":"message","decision":{"next":["ben"],"instructions":{"ben":"short"}},'
    '"items":[{"text":"one","id":"a"}],"usage":{"input_tokens":1,"requests":1}}'
)
#: Values as they are stored, without the fields that have their defaults.
STORED = {
    _PLANNED: PLANNED,
    _RESULT: RESULT,
    '{"question":{"to":"ann","text":"Red?"},"asked":["ann"]}': ParkedQuestion(
        question=Question(to="ann", text="Red?"), asked=("ann",)
    ),
    f'{{"number":3,"token":"t","binding":{{"agent":"echo"}},"planned":{_PLANNED},"result":{_RESULT}}}': RecordedTurn(
        number=3, token="t", binding=AgentBinding(agent="echo"), planned=PLANNED, result=RESULT
    ),
}
#: Modules that documents, agents files or settings of users name; after a colon, a name that is in it.
MODULES = [
    "symposia.agents.llm.tools",
    "symposia.agents.reviewers.code:review_turn",
    "symposia.agents.reviewers.documents:clarity",
    "symposia.agents.reviewers.judge:judge",
    "symposia.agents.reviewers.program:run_on_item",
    "symposia.models.alignment.document:parse",
    "symposia.models.turns.message_lists",
    "symposia.models.turns.turn",
    "symposia.reviews.findings",
    "symposia.reviews.reports.formats",
    "symposia.testing",
    "symposia.testing.conformance",
    "symposia.testing.plugin",
    "symposia.workers",
    "symposia.workers.cli:main",
    "symposia.workers.dashboard:install",
    "symposia.workers.local.embedded:EmbeddedServer",
]


@pytest.fixture
def client(redis_url: str, tmp_path: Path) -> Iterator[Client]:
    with Client(load_settings(redis_url=redis_url, broker_url=redis_url, data_dir=tmp_path)) as client:
        yield client


def test_digests_of_submissions_are_those_of_earlier_versions(client: Client) -> None:
    ids = [
        client.submit({"title": "t", "purpose": "p", "collab_id": ID.format(number), **collab}, **options).id
        for number, (collab, options) in enumerate(SUBMISSIONS.values())
    ]
    assert SessionStore(client._parts.redis).digests(ids) == [*SUBMISSIONS]


@pytest.mark.parametrize("text", STORED, ids=lambda text: type(STORED[text]).__name__)
def test_stored_values_keep_their_form(text: str) -> None:
    value = STORED[text]
    assert value.model_dump_json(exclude_defaults=True) == text
    assert type(value).model_validate_json(text) == value


def test_celery_tasks_keep_their_names(tmp_path: Path, redis_url: str) -> None:
    app = create_worker_app(load_settings(redis_url=redis_url, data_dir=tmp_path))
    app.loader.import_default_modules()
    names = ["advance", "deliver", "occurrence", "review", "review.item", "session", "turn"]
    assert sorted(it for it in app.tasks if it.startswith("symposia.")) == [f"symposia.{it}" for it in names]


def test_reviewers_keep_their_identity() -> None:
    """Another one would have every known item of earlier reviews reviewed again."""
    assert program_identity(BUILT_IN["inspector"]) == "0e9552ff900b3d562c0ce57642edd143"


@pytest.mark.parametrize("name", MODULES)
def test_documented_modules_exist(name: str) -> None:
    module, _, member = name.partition(":")
    assert getattr(importlib.import_module(module), member or "__doc__")
