"""What `from symposia import ...` gives, and what it costs."""

from __future__ import annotations

import ast
import pydoc
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import symposia
from scaling import patient
from symposia.models import errors

NAMES = sorted(
    [
        "SymposiaError",
        "install",
        "SessionNotFound",
        "SessionFailed",
        "ResultTimeout",
        "InvalidInput",
        "AgentError",
        "AgentBinding",
        "AsyncClient",
        "AsyncCollabJob",
        "AsyncReviewJob",
        "Attachment",
        "Client",
        "Collab",
        "CollabJob",
        "CollabMode",
        "CollabStatus",
        "Conversation",
        "ConversationMessage",
        "ConversationSummary",
        "CostBudget",
        "Deadline",
        "Decision",
        "Delta",
        "Dialog",
        "DialogMemory",
        "DialogStatus",
        "DraftMessage",
        "Drafts",
        "EvaluatedRun",
        "EvaluationProgress",
        "EvaluationResult",
        "FailurePolicy",
        "FunctionRecollections",
        "HowToRun",
        "Item",
        "ItemResult",
        "ItemState",
        "JobResult",
        "Learned",
        "LocalClient",
        "LongTermMemory",
        "MapEvent",
        "MaxRounds",
        "MaxTurns",
        "MemoryRules",
        "MemoryView",
        "Mem0Recollections",
        "Message",
        "ModeOptions",
        "ModelParser",
        "NewItem",
        "PairVerdict",
        "Parameter",
        "ParameterKind",
        "Participant",
        "ParticipantKind",
        "Pending",
        "Question",
        "Repair",
        "Recollection",
        "RepairedDocument",
        "ReplayResult",
        "ReviewJob",
        "Role",
        "RoundOfPasses",
        "Scope",
        "Sentence",
        "Service",
        "SessionComparison",
        "StopCondition",
        "Task",
        "TaskStatus",
        "TextSeen",
        "TokenBudget",
        "ToolEvent",
        "ToolStatus",
        "TurnContext",
        "TurnOutcome",
        "Usage",
        "VariantSummary",
        "Verdict",
        "WaitPolicy",
        "WorkItem",
        "agent",
        "as_completed",
        "errors",
        "get_job",
        "read_document",
        "recommend_mode",
        "register_parser",
        "register_service",
        "register_task_manager",
        "run_local",
        "run_local_sync",
        "session",
        "submit",
    ]
)
#: Exceptions that no call of a client and no agent raises: they stay between workers, servers and `symposia up`.
INTERNAL = {
    "LeaseLost",
    "LocalModelError",
    "PortTaken",
    "ScriptError",
    "ServiceEnded",
    "ToolServerFailed",
    "TurnFailed",
}


def exceptions() -> set[str]:
    kinds = {
        name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)
    }
    return {name for name in kinds - INTERNAL if getattr(errors, name).__module__ == errors.__name__}


def output_of(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=patient(60)
    ).stdout.strip()


def test_these_names_are_public():
    assert [name for name in dir(symposia) if not name.startswith("_")] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_public_name_is_there_and_in_the_overview(name: str):
    assert getattr(symposia, name).__name__.removeprefix("symposia.") == name or name == "StopCondition"
    assert re.search(rf"\b{name}\b", symposia.__doc__)


def test_type_checkers_see_the_same_names():
    stub = ast.parse(Path(symposia.__file__).with_suffix(".pyi").read_text("utf-8"))
    imports = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imports.pop("errors") is None
    assert {name: f".{module}" for name, module in imports.items()} == symposia._MODULES


def test_exceptions_are_in_one_module():
    public = {name for name in vars(symposia.errors) if not name.startswith("_")}
    assert public == exceptions()


def test_former_name_of_an_exception_warns():
    with pytest.warns(DeprecationWarning, match=r"import ReplayDiffers from symposia\.errors"):
        assert symposia.ReplayDiffers is symposia.errors.ReplayDiffers


def test_help_is_an_overview():
    lines = pydoc.plain(pydoc.render_doc(symposia)).splitlines()
    assert len(lines) < 200


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'symposia' has no attribute 'sumbit'"):
        symposia.sumbit  # noqa: B018 - the access is what is tested


def test_version_is_that_of_the_package():
    assert symposia.__version__ == version("symposia")


def test_module_runs_the_command_line():
    assert "Usage: symposia" in output_of("-m", "symposia", "--help")


def test_mode_guide_of_the_protocol_is_public():
    assert symposia.recommend_mode(2) is symposia.CollabMode.PAIR
    assert symposia.recommend_mode(5, central_control=True) is symposia.CollabMode.ORCHESTRATED


def test_import_loads_no_queue_and_no_model_library():
    script = """
import sys
from symposia import Collab, InvalidInput, MaxTurns, Participant, recommend_mode
heavy = {"celery", "kombu", "redis", "pydantic_ai", "openai", "typer"} & sys.modules.keys()
print(*sorted(heavy))
"""
    assert output_of("-c", script) == ""


def test_bare_import_reads_no_list():
    script = "import sys, symposia; print(*sorted({'pydantic', 'importlib.metadata'} & sys.modules.keys()))"
    assert output_of("-c", script) == ""
