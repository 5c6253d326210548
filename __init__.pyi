"""The public names of Symposia for type checkers; `__init__.py` imports each when it is first used."""

from . import errors as errors
from .agents.kinds.object import agent as agent
from .client.aio.client import AsyncClient as AsyncClient
from .client.aio.jobs import (
    AsyncCollabJob as AsyncCollabJob,
    AsyncReviewJob as AsyncReviewJob,
)
from .client.client import (
    Client as Client,
    get_job as get_job,
    submit as submit,
)
from .client.local.client import LocalClient as LocalClient
from .client.local.run import (
    run_local as run_local,
    run_local_sync as run_local_sync,
)
from .client.steps.celery_tasks import session as session
from .errors import (
    AgentError as AgentError,
    InvalidInput as InvalidInput,
    ResultTimeout as ResultTimeout,
    SessionFailed as SessionFailed,
    SessionNotFound as SessionNotFound,
    SymposiaError as SymposiaError,
)
from .evaluation.results import (
    EvaluatedRun as EvaluatedRun,
    EvaluationResult as EvaluationResult,
    VariantSummary as VariantSummary,
)
from .evaluation.runner import EvaluationProgress as EvaluationProgress
from .jobs.collab import CollabJob as CollabJob
from .jobs.progress import as_completed as as_completed
from .jobs.result import (
    Item as Item,
    ItemState as ItemState,
    JobResult as JobResult,
    PairVerdict as PairVerdict,
)
from .memory.adapters import (
    FunctionRecollections as FunctionRecollections,
    Mem0Recollections as Mem0Recollections,
)
from .memory.long_term import LongTermMemory as LongTermMemory
from .memory.rooms import DialogMemory as DialogMemory
from .memory.values import MemoryRules as MemoryRules
from .models.attachments import Attachment as Attachment
from .models.memory.learned import Learned as Learned
from .models.memory.parameters import (
    Parameter as Parameter,
    ParameterKind as ParameterKind,
)
from .models.memory.recall import MemoryView as MemoryView
from .models.memory.recollections import Recollection as Recollection, Scope as Scope
from .models.memory.sentences import (
    ModelParser as ModelParser,
    Sentence as Sentence,
    register_parser as register_parser,
)
from .models.memory.services import (
    Service as Service,
    register_service as register_service,
)
from .models.protocol.collab import (
    Collab as Collab,
    CollabMode as CollabMode,
    CollabStatus as CollabStatus,
    Participant as Participant,
    ParticipantKind as ParticipantKind,
    recommend_mode as recommend_mode,
)
from .models.protocol.dialog import (
    Dialog as Dialog,
    DialogStatus as DialogStatus,
    Message as Message,
    Role as Role,
)
from .models.protocol.events import MapEvent as MapEvent
from .models.protocol.reading import (
    RepairedDocument as RepairedDocument,
    read_document as read_document,
)
from .models.protocol.repairs import Repair as Repair
from .models.sessions.how_to_run import HowToRun as HowToRun
from .models.sessions.options import (
    AgentBinding as AgentBinding,
    FailurePolicy as FailurePolicy,
    ModeOptions as ModeOptions,
)
from .models.sessions.stop_conditions import (
    CostBudget as CostBudget,
    Deadline as Deadline,
    MaxRounds as MaxRounds,
    MaxTurns as MaxTurns,
    RoundOfPasses as RoundOfPasses,
    StopCondition as StopCondition,
    TextSeen as TextSeen,
    TokenBudget as TokenBudget,
)
from .models.turns.items import (
    ItemResult as ItemResult,
    NewItem as NewItem,
    WorkItem as WorkItem,
)
from .models.turns.streaming import (
    Delta as Delta,
    Drafts as Drafts,
    ToolEvent as ToolEvent,
    ToolStatus as ToolStatus,
)
from .models.turns.turn import (
    Decision as Decision,
    DraftMessage as DraftMessage,
    Question as Question,
    TurnContext as TurnContext,
    TurnOutcome as TurnOutcome,
    Usage as Usage,
)
from .models.turns.waiting import (
    Pending as Pending,
    WaitPolicy as WaitPolicy,
)
from .replay.comparing import SessionComparison as SessionComparison
from .replay.replay import ReplayResult as ReplayResult
from .reviews.job import ReviewJob as ReviewJob
from .workers.install import install as install
from .workspace.task_managers import register_task_manager as register_task_manager
from .workspace.values.conversation import (
    Conversation as Conversation,
    ConversationMessage as ConversationMessage,
    ConversationSummary as ConversationSummary,
)
from .workspace.values.task import (
    Task as Task,
    TaskStatus as TaskStatus,
    Verdict as Verdict,
)

__version__: str
