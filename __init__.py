"""Symposia: multi-agent collaboration sessions on Celery workers.

    from symposia import Collab, Participant, submit

    job = submit(
        Collab(title="Review", purpose="Find what is wrong with it.", mode="pair",
               participants=[Participant(participant_id="coder"), Participant(participant_id="reviewer")]),
        agents={"coder": "local", "reviewer": "local"},
    )
    for message in job.messages(follow=True):
        print(message.speaker, message.content)
    result = job.result()
    print(result.collab.status, result.reason, result.detail)

What is named in `__all__` is the public face; the exceptions are in `symposia.models.errors`.
Names are loaded when they are asked for, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import Client, get_job, submit
    from .job import CollabJob, JobResult
    from .models.collab import Collab, CollabMode, CollabStatus, Participant, ParticipantKind
    from .models.deltas import Delta, Drafts
    from .models.dialog import Dialog, DialogStatus, Message, Role
    from .models.errors import InvalidInput, SymposiaError
    from .models.events import MapEvent
    from .models.memory.learned import Learned
    from .models.memory.parameters import Parameter, ParameterKind
    from .models.memory.recall import MemoryView
    from .models.memory.services import Service, register_service
    from .models.modes import recommend_mode
    from .models.options import AgentBinding, FailurePolicy, ModeOptions
    from .models.stop import (
        CostBudget,
        Deadline,
        MaxRounds,
        MaxTurns,
        RoundOfPasses,
        StopCondition,
        TextSeen,
        TokenBudget,
    )
    from .models.tasks.conversation import Conversation, ConversationMessage, ConversationSummary
    from .models.tasks.task import Task, TaskStatus, Verdict
    from .models.turn import Decision, NewItem, Question, TurnContext, TurnOutcome, Usage
    from .models.waiting import Pending, WaitPolicy
    from .reviews.job import ReviewJob
    from .state.memory import DialogMemory
    from .state.memory_values import MemoryRules
    from .tasks.conversations.managers import register_task_manager

_HOMES = {
    "client": ("Client", "get_job", "submit"),
    "job": ("CollabJob", "JobResult"),
    "models.collab": ("Collab", "CollabMode", "CollabStatus", "Participant", "ParticipantKind"),
    "models.deltas": ("Delta", "Drafts"),
    "models.dialog": ("Dialog", "DialogStatus", "Message", "Role"),
    "models.errors": ("InvalidInput", "SymposiaError"),
    "models.events": ("MapEvent",),
    "models.memory.learned": ("Learned",),
    "models.memory.parameters": ("Parameter", "ParameterKind"),
    "models.memory.recall": ("MemoryView",),
    "models.memory.services": ("Service", "register_service"),
    "models.modes": ("recommend_mode",),
    "models.options": ("AgentBinding", "FailurePolicy", "ModeOptions"),
    "models.stop": (
        "CostBudget",
        "Deadline",
        "MaxRounds",
        "MaxTurns",
        "RoundOfPasses",
        "StopCondition",
        "TextSeen",
        "TokenBudget",
    ),
    "models.tasks.conversation": ("Conversation", "ConversationMessage", "ConversationSummary"),
    "models.tasks.task": ("Task", "TaskStatus", "Verdict"),
    "models.turn": ("Decision", "NewItem", "Question", "TurnContext", "TurnOutcome", "Usage"),
    "models.waiting": ("Pending", "WaitPolicy"),
    "reviews.job": ("ReviewJob",),
    "state.memory": ("DialogMemory",),
    "state.memory_values": ("MemoryRules",),
    "tasks.conversations.managers": ("register_task_manager",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
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


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
