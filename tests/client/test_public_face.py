"""What `from symposia import ...` gives, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import symposia

PUBLIC = [
    "AgentBinding",
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
    "Drafts",
    "FailurePolicy",
    "InvalidInput",
    "JobResult",
    "Learned",
    "MapEvent",
    "MaxRounds",
    "MaxTurns",
    "MemoryRules",
    "MemoryView",
    "Message",
    "ModeOptions",
    "NewItem",
    "Parameter",
    "ParameterKind",
    "Participant",
    "ParticipantKind",
    "Pending",
    "Question",
    "ReviewJob",
    "Role",
    "RoundOfPasses",
    "Service",
    "StopCondition",
    "SymposiaError",
    "Task",
    "TaskStatus",
    "TextSeen",
    "TokenBudget",
    "TurnContext",
    "TurnOutcome",
    "Usage",
    "Verdict",
    "WaitPolicy",
    "get_job",
    "recommend_mode",
    "register_service",
    "register_task_manager",
    "submit",
]


def test_these_names_are_public():
    assert symposia.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_is_listed(name):
    assert getattr(symposia, name) is not None
    assert name in dir(symposia)


def test_a_star_brings_exactly_the_public_names():
    names: dict[str, object] = {}
    exec("from symposia import *", names)  # noqa: S102 - a star is allowed at the top of a module only
    assert sorted(names.keys() - {"__builtins__"}) == sorted(PUBLIC)


def test_what_is_not_there_is_said_as_python_says_it():
    with pytest.raises(AttributeError, match="module 'symposia' has no attribute 'sumbit'"):
        symposia.sumbit  # noqa: B018 - the access is what is tested


def test_the_protocols_mode_guide_is_public():
    assert symposia.recommend_mode(2) is symposia.CollabMode.PAIR
    assert symposia.recommend_mode(5, central_control=True) is symposia.CollabMode.ORCHESTRATED


def test_importing_the_package_or_its_models_loads_no_queue_and_no_model_library():
    script = """
import sys
from symposia import Collab, MaxTurns, Participant, recommend_mode
heavy = {"celery", "kombu", "redis", "pydantic_ai", "openai", "typer"} & sys.modules.keys()
print(*sorted(heavy))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=30
    )
    assert done.stdout.strip() == ""
