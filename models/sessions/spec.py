"""Specification of a session: its agents, stop conditions, options and policies.

Written once when the session is opened and never changed; workers keep it in memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, JsonValue

from ..memory.learned import MemoryOptions
from ..outputs import RequiredOutput
from ..text.ids import Id, new_id
from ..turns.frozen import Frozen, ShortText
from .history import History
from .inputs import InputValue
from .limits import Tenant, TurnLimits
from .options import AgentBinding, FailurePolicy, ModeOptions, Protocol
from .stop_conditions import StopCondition
from .subsessions import ParentRef


class SessionSpec(Frozen):
    """Data of a session that workers need besides its collab."""

    dialog_id: Id = Field(default_factory=new_id)
    thread_id: Id | None = None
    #: Task in which it runs; also its thread.
    task: Id | None = None
    #: Conversation of that task that receives its messages.
    conversation: Id | None = None
    #: The earlier session that it continues; its messages come before those of its own dialog.
    history: History | None = None
    #: Participant id -> its agent.
    agents: Mapping[str, AgentBinding]
    #: Names of people without turns who may be asked; approvers also decide approvals.
    approvers: tuple[ShortText, ...] = ()
    observers: tuple[ShortText, ...] = ()
    stop: StopCondition
    options: ModeOptions = ModeOptions()
    #: Participant id of the orchestrator, in orchestrated sessions.
    orchestrator: str | None = None
    policy: FailurePolicy = FailurePolicy()
    #: Participant id -> its own policy instead of `policy`.
    policies: Mapping[str, FailurePolicy] = Field(default_factory=dict)
    #: Spending limits of one turn.
    limits: TurnLimits = TurnLimits()
    #: Tenant that is charged.
    tenant: Tenant | None = None
    #: Handed to every agent as `TurnContext.parameters`.
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)

    #: `alignment`: turns are written in the dialogue format, and a ledger records their markers.
    protocol: Protocol | None = None

    #: Output that the session must have.
    output: RequiredOutput | None = None
    #: Whether its turns are recorded with their calls, for a replay.
    record: bool = False
    #: Values of the inputs of its session file.
    inputs: Mapping[str, InputValue] = Field(default_factory=dict)

    #: User whose memory its turns use, and the parameters of its own message.
    memory: MemoryOptions | None = None

    #: The turn that it answers; None: it is no sub-session.
    parent: ParentRef | None = None

    #: Span in which it was submitted, in the format of W3C's header `traceparent`; None: no span was active.
    submitted_in: str | None = Field(default=None, pattern="^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$")

    def policy_of(self, participant_id: str) -> FailurePolicy:
        """Return the failure policy of this participant."""
        return self.policies.get(participant_id, self.policy)
