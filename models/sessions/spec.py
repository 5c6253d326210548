"""Options of a session: those that a submission and the stored specification share, and the specification.

The specification is written once when the session is opened and never changed; workers keep it in memory.
`models/sessions/submission.py` has what a submitter gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, JsonValue

from ..identity import CallerName
from ..memory.learned import MemoryOptions
from ..memory.recollections import RecallOptions, Scope
from ..outputs import RequiredOutput
from ..text.ids import Id, new_id
from ..turns.frozen import Frozen, ShortText
from .inputs import InputValue
from .limits import Tenant, TurnLimits
from .on_end import OnEnd
from .options import AgentBinding, FailurePolicy, ModeOptions, Protocol
from .priority import Priority, QueueShare
from .stop_conditions import StopCondition
from .subsessions import ParentRef

#: Position of a dialog without messages.
NO_MESSAGE = "0-0"


class History(Frozen):
    """Messages of an earlier session, up to one of them. They are read from that session and never copied.

    That session may have a history itself, so that histories form a chain.
    """

    session: Id
    #: Id of the stream entry of the last message that belongs to it; `0-0`: none does.
    until: Annotated[str, Field(pattern=r"^\d{1,20}-\d{1,20}$")] = NO_MESSAGE
    #: In a fork, number of the turn before which it begins; None: the session was continued after its end.
    before_turn: int | None = Field(default=None, ge=1)


class SessionOptions(Frozen):
    """Options that are stored as they were submitted. `Client.submit` documents those that its callers give."""

    thread_id: Id | None = None
    #: Task in which it runs; also its thread.
    task: Id | None = None
    conversation: Id | None = None
    #: The earlier session that it continues; its messages come before those of its own dialog.
    history: History | None = None
    #: Participant id -> its agent.
    agents: Mapping[str, AgentBinding] = Field(default_factory=dict)
    approvers: tuple[ShortText, ...] = ()
    observers: tuple[ShortText, ...] = ()
    options: ModeOptions = ModeOptions()
    policy: FailurePolicy = FailurePolicy()
    #: Participant id -> its own policy instead of `policy`.
    policies: Mapping[str, FailurePolicy] = Field(default_factory=dict)
    limits: TurnLimits = TurnLimits()
    tenant: Tenant | None = None
    #: Among the sessions of its tenant. Left out if it is `normal`, so that workers of earlier versions read it.
    priority: Priority = Field(default=Priority.NORMAL, exclude_if=lambda value: value is Priority.NORMAL)
    #: Name of the caller that submitted it; None: not over HTTP. Left out then, as above.
    owner: CallerName | None = Field(default=None, exclude_if=lambda value: value is None)
    #: Handed to every agent as `TurnContext.parameters`.
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)
    protocol: Protocol | None = None
    #: Values of the inputs of the session file that it came from.
    inputs: Mapping[str, InputValue] = Field(default_factory=dict)
    #: User whose memory its turns use, and the parameters of its own message.
    memory: MemoryOptions | None = None
    #: Whose long-term memory its turns use; None: none. Left out then, so that workers of earlier versions read it.
    recall: RecallOptions | None = Field(default=None, exclude_if=lambda value: value is None)
    #: What is sent when it ends; None: nothing. Left out then, as above.
    on_end: OnEnd | None = Field(default=None, exclude_if=lambda value: value is None)
    #: The turn that it answers; None: it is no sub-session.
    parent: ParentRef | None = None


class SessionSpec(SessionOptions):
    """Data of a session that workers need besides its collab."""

    dialog_id: Id = Field(default_factory=new_id)
    stop: StopCondition
    #: Participant id of the orchestrator, in orchestrated sessions.
    orchestrator: str | None = None
    #: Output that the session must have.
    output: RequiredOutput | None = None
    #: Whether its turns are recorded with their calls, for a replay.
    record: bool = False
    #: Span in which it was submitted, in the format of W3C's header `traceparent`; None: no span was active.
    submitted_in: str | None = Field(default=None, pattern="^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$")

    @property
    def share(self) -> QueueShare:
        """Return what decides in which queue its messages wait."""
        return QueueShare(self.tenant, self.priority)

    @property
    def recall_scope(self) -> Scope | None:
        """Return the scope of its long-term memory; None: it has none."""
        return None if self.recall is None else self.recall.scope(self.tenant)

    def policy_of(self, participant_id: str) -> FailurePolicy:
        """Return the failure policy of this participant."""
        return self.policies.get(participant_id, self.policy)
