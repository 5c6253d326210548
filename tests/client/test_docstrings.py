"""The verbs of the public face are documented in Google style: summary, parameters, result."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import symposia
from symposia.client.aio.jobs import (
    AsyncConversations,
    AsyncDialogMemory,
    AsyncLongTermMemory,
    AsyncSchedules,
    AsyncTokenStore,
    AsyncWebhooks,
)
from symposia.client.webhooks.service import Webhooks
from symposia.schedules.schedules import Schedules
from symposia.state.tokens import TokenStore
from symposia.workspace.service import WorkspaceService

CLASSES = (
    symposia.Client,
    symposia.AsyncClient,
    symposia.CollabJob,
    symposia.AsyncCollabJob,
    symposia.ReviewJob,
    symposia.AsyncReviewJob,
    Schedules,
    AsyncSchedules,
    TokenStore,
    AsyncTokenStore,
    Webhooks,
    AsyncWebhooks,
    symposia.DialogMemory,
    AsyncDialogMemory,
    AsyncLongTermMemory,
    WorkspaceService,
    AsyncConversations,
    symposia.AgentBinding,
    symposia.Collab,
    symposia.Decision,
    symposia.Dialog,
    symposia.Drafts,
    symposia.FailurePolicy,
    symposia.InvalidInput,
    symposia.JobResult,
    symposia.Parameter,
    symposia.Service,
    symposia.Usage,
)
FUNCTIONS = (
    symposia.submit,
    symposia.get_job,
    symposia.recommend_mode,
    symposia.register_service,
    symposia.register_task_manager,
)
#: The result is in the summary.
SAYS_RESULT = ("Return ", "Iterate ")
#: Verbs whose class does not say what all of them raise.
RAISE_THEMSELVES = (
    symposia.Client,
    symposia.AsyncClient,
    Schedules,
    AsyncSchedules,
    Webhooks,
    AsyncWebhooks,
    WorkspaceService,
    AsyncConversations,
)
RAISES_NOTHING = {"close"}


def verbs() -> dict[str, Callable[..., object]]:
    found = {
        f"{kind.__name__}.{name}": it
        for kind in CLASSES
        for name, it in inspect.getmembers(kind)
        if is_verb(name, it)
    }
    return found | {it.__name__: it for it in FUNCTIONS}


def is_verb(name: str, member: object) -> bool:
    return (
        inspect.isfunction(member) and not name.startswith("_") and member.__module__.startswith("symposia.")
    )


@pytest.mark.parametrize("name", verbs())
def test_verb_is_documented(name: str):
    verb = verbs()[name]
    doc, shown = inspect.getdoc(verb) or "", inspect.signature(verb)
    summary = doc.split("\n\n")[0]
    first = summary.split()[0]
    assert first[0].isupper(), summary
    assert not first.endswith("s"), f"the summary is imperative: {summary}"
    assert summary.endswith("."), summary
    parameters = [it for it in shown.parameters if it != "self"]
    arguments = doc.partition("Args:\n")[2].partition("\n\n")[0]
    listed = [
        line.split(":")[0].strip()
        for line in arguments.splitlines()
        if line.startswith("    ") and line[4] != " "
    ]
    assert listed == parameters
    if shown.return_annotation not in (None, "None"):
        assert "Returns:\n" in doc or "Yields:\n" in doc or summary.startswith(SAYS_RESULT)
    if (
        name.split(".", maxsplit=1)[0] in {it.__name__ for it in RAISE_THEMSELVES}
        and name.split(".")[1] not in RAISES_NOTHING
    ):
        assert "Raises:\n" in doc


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_property_is_documented(kind: type):
    for name, member in inspect.getmembers(kind, lambda it: isinstance(it, property)):
        assert name.startswith("_") or inspect.getdoc(member), name


def test_options_of_submit_are_those_of_a_dictionary():
    """`HowToRun` is for programs that pass the options on."""
    parameters = list(inspect.signature(symposia.submit).parameters.values())[1:]
    assert {it.name for it in parameters} == set(symposia.HowToRun.__annotations__)
    assert all(it.kind is it.KEYWORD_ONLY and it.default is None for it in parameters)
