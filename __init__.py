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

Public names:

    sessions       Client, AsyncClient, submit, get_job, CollabJob, AsyncCollabJob, as_completed, HowToRun, FailurePolicy
    in Celery      session (a task for chains, groups and chords)
    in one process run_local, run_local_sync, LocalClient
    results        JobResult, PairVerdict, Item, ItemState, Delta, Drafts, ToolEvent, ToolStatus, Pending
    protocol       Collab, CollabMode, CollabStatus, Participant, ParticipantKind, Dialog, DialogStatus, Message, Role,
                   MapEvent, recommend_mode, read_document, RepairedDocument, Repair
    options        AgentBinding, ModeOptions, WaitPolicy, NewItem, Attachment
    when to end    StopCondition: CostBudget, Deadline, MaxRounds, MaxTurns, RoundOfPasses, TextSeen, TokenBudget
    agents         agent, TurnContext, TurnOutcome, DraftMessage, Decision, Question, Usage, Learned, WorkItem, ItemResult
    memory         DialogMemory, MemoryRules, MemoryView, Parameter, ParameterKind, Service, register_service,
                   register_parser, ModelParser, Sentence
    long-term      LongTermMemory, Recollection, Scope, Mem0Recollections, FunctionRecollections
    tasks          Task, TaskStatus, Verdict, Conversation, ConversationMessage, ConversationSummary, register_task_manager
    evaluations    EvaluationResult, EvaluatedRun, EvaluationProgress, VariantSummary
    reviews        ReviewJob, AsyncReviewJob
    replays        ReplayResult, SessionComparison
    Celery         install
    errors         symposia.errors; here, too: AgentError, InvalidInput, ResultTimeout, SessionFailed, SessionNotFound,
                   SymposiaError

A name is imported when it is first used, so that `import symposia` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Module -> its public names. `__init__.pyi` has the same for type checkers.
_NAMES = {
    "agents.kinds.object": "agent",
    "client.aio.client": "AsyncClient",
    "client.aio.jobs": "AsyncCollabJob AsyncReviewJob",
    "client.client": "Client get_job submit",
    "client.local.client": "LocalClient",
    "client.local.run": "run_local run_local_sync",
    "client.steps.celery_tasks": "session",
    "errors": "AgentError InvalidInput ResultTimeout SessionFailed SessionNotFound SymposiaError",
    "evaluation.results": "EvaluatedRun EvaluationResult VariantSummary",
    "evaluation.runner": "EvaluationProgress",
    "jobs.collab": "CollabJob",
    "jobs.progress": "as_completed",
    "jobs.result": "Item ItemState JobResult PairVerdict",
    "memory.adapters": "FunctionRecollections Mem0Recollections",
    "memory.long_term": "LongTermMemory",
    "memory.rooms": "DialogMemory",
    "memory.values": "MemoryRules",
    "models.attachments": "Attachment",
    "models.memory.learned": "Learned",
    "models.memory.parameters": "Parameter ParameterKind",
    "models.memory.recall": "MemoryView",
    "models.memory.recollections": "Recollection Scope",
    "models.memory.sentences": "ModelParser Sentence register_parser",
    "models.memory.services": "Service register_service",
    "models.protocol.collab": "Collab CollabMode CollabStatus Participant ParticipantKind recommend_mode",
    "models.protocol.dialog": "Dialog DialogStatus Message Role",
    "models.protocol.events": "MapEvent",
    "models.protocol.reading": "RepairedDocument read_document",
    "models.protocol.repairs": "Repair",
    "models.sessions.how_to_run": "HowToRun",
    "models.sessions.options": "AgentBinding FailurePolicy ModeOptions",
    "models.sessions.stop_conditions": "CostBudget Deadline MaxRounds MaxTurns RoundOfPasses StopCondition TextSeen TokenBudget",
    "models.turns.items": "ItemResult NewItem WorkItem",
    "models.turns.streaming": "Delta Drafts ToolEvent ToolStatus",
    "models.turns.turn": "Decision DraftMessage Question TurnContext TurnOutcome Usage",
    "models.turns.waiting": "Pending WaitPolicy",
    "replay.comparing": "SessionComparison",
    "replay.replay": "ReplayResult",
    "reviews.job": "ReviewJob",
    "workers.install": "install",
    "workspace.task_managers": "register_task_manager",
    "workspace.values.conversation": "Conversation ConversationMessage ConversationSummary",
    "workspace.values.task": "Task TaskStatus Verdict",
}
_MODULES = {name: f".{module}" for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    value: object
    if name == "__version__":
        from importlib.metadata import version

        value = version(__name__)
    elif name == "errors":
        value = import_module(".errors", __name__)
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name], __name__), name)
    elif not name.startswith("_") and hasattr(errors := import_module(".errors", __name__), name):
        import warnings

        warnings.warn(f"import {name} from symposia.errors", DeprecationWarning, stacklevel=2)
        return getattr(errors, name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_MODULES, "errors", "__doc__", "__name__", "__version__"])
