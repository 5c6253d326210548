"""The public names of Symposia, each with its module: the only list of them.

Type checkers read this file. At runtime `__init__.py` reads it and imports a name when it is first used.
"""

from .agents.kinds.object import agent as agent
from .client.aio.client import AsyncClient as AsyncClient
from .client.aio.jobs import (
    AsyncCollabJob as AsyncCollabJob,
    AsyncReviewJob as AsyncReviewJob,
)
from .client.client import Client as Client
from .client.client import (
    get_job as get_job,
    submit as submit,
)
from .jobs.collab import CollabJob as CollabJob
from .jobs.progress import as_completed as as_completed
from .evaluation.runner import EvaluationProgress as EvaluationProgress
from .evaluation.results import (
    EvaluatedRun as EvaluatedRun,
    EvaluationResult as EvaluationResult,
    VariantSummary as VariantSummary,
)
from .replay.comparing import SessionComparison as SessionComparison
from .jobs.result import JobResult as JobResult
from .jobs.result import PairVerdict as PairVerdict
from .jobs.result import Item as Item
from .jobs.result import ItemState as ItemState
from .models.attachments import Attachment as Attachment
from .models.errors import (
    AgentError as AgentError,
    AgentFailed as AgentFailed,
    AgentTimeout as AgentTimeout,
    AmbiguousId as AmbiguousId,
    ArchiveError as ArchiveError,
    ArchiveUnavailable as ArchiveUnavailable,
    AttachmentUnavailable as AttachmentUnavailable,
    BadOutcome as BadOutcome,
    BrokerUnavailable as BrokerUnavailable,
    ClientClosed as ClientClosed,
    ConversationArchivedError as ConversationArchivedError,
    ConversationError as ConversationError,
    ConversationFullError as ConversationFullError,
    CorruptMemory as CorruptMemory,
    CorruptSchedule as CorruptSchedule,
    CorruptSession as CorruptSession,
    DeliveryFailed as DeliveryFailed,
    DialogNotActive as DialogNotActive,
    EmbeddedServerError as EmbeddedServerError,
    GitFailed as GitFailed,
    IllegalTransition as IllegalTransition,
    InvalidInput as InvalidInput,
    InvalidSessionFile as InvalidSessionFile,
    InvariantViolation as InvariantViolation,
    LifecycleError as LifecycleError,
    Locked as Locked,
    MessageTooLarge as MessageTooLarge,
    MissingPackage as MissingPackage,
    NewerFormat as NewerFormat,
    NoRedis as NoRedis,
    NotAMember as NotAMember,
    NotLive as NotLive,
    NotRecorded as NotRecorded,
    NotRestorable as NotRestorable,
    NotTaskManager as NotTaskManager,
    NotTheOwner as NotTheOwner,
    ParticipantNotAdmittedError as ParticipantNotAdmittedError,
    PartlySubmitted as PartlySubmitted,
    RedisUnavailable as RedisUnavailable,
    RegistryError as RegistryError,
    ReplayDiffers as ReplayDiffers,
    ReplyRefused as ReplyRefused,
    ResultTimeout as ResultTimeout,
    ReviewError as ReviewError,
    ReviewNotFound as ReviewNotFound,
    ScheduleNotFound as ScheduleNotFound,
    SessionConflict as SessionConflict,
    SessionEnded as SessionEnded,
    SessionError as SessionError,
    SessionFailed as SessionFailed,
    SessionNotFound as SessionNotFound,
    StateError as StateError,
    SymposiaError as SymposiaError,
    TaskClosedError as TaskClosedError,
    TaskRejectedError as TaskRejectedError,
    UnknownAgent as UnknownAgent,
    UnsuitableQueue as UnsuitableQueue,
    UnsuitableRedis as UnsuitableRedis,
    WaitInTurn as WaitInTurn,
)
from .models.memory.learned import Learned as Learned
from .models.memory.parameters import (
    Parameter as Parameter,
    ParameterKind as ParameterKind,
)
from .models.memory.recall import MemoryView as MemoryView
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
)
from .models.protocol.dialog import (
    Dialog as Dialog,
    DialogStatus as DialogStatus,
    Message as Message,
    Role as Role,
)
from .models.protocol.events import MapEvent as MapEvent
from .models.protocol.collab import recommend_mode as recommend_mode
from .models.protocol.reading import (
    RepairedDocument as RepairedDocument,
    read_document as read_document,
)
from .models.protocol.repairs import Repair as Repair
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
from .models.sessions.how_to_run import HowToRun as HowToRun
from .models.turns.streaming import Delta as Delta, Drafts as Drafts
from .models.turns.items import (
    ItemResult as ItemResult,
    NewItem as NewItem,
    WorkItem as WorkItem,
)
from .models.turns.streaming import ToolEvent as ToolEvent, ToolStatus as ToolStatus
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
from .reviews.job import ReviewJob as ReviewJob
from .memory.rooms import DialogMemory as DialogMemory
from .memory.values import MemoryRules as MemoryRules
from .replay.replay import ReplayResult as ReplayResult
from .workspace.task_managers import register_task_manager as register_task_manager
from .client.local.client import LocalClient as LocalClient
from .client.local.run import (
    run_local as run_local,
    run_local_sync as run_local_sync,
)

__version__: str
