"""What a session is run with: its agents, stop conditions, options and policies.

Written once when the session is opened and never changed; workers keep it in memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, JsonValue

from .ids import Id, new_id
from .limits import Tenant, TurnLimits
from .memory.learned import MemoryOptions
from .options import AgentBinding, FailurePolicy, ModeOptions, Protocol
from .stop import StopCondition
from .turn import Frozen


class SessionSpec(Frozen):
    """All that a worker needs to know of a session besides its collab."""

    dialog_id: Id = Field(default_factory=new_id)
    thread_id: Id | None = None
    #: The task it runs in, which is its thread.
    task: Id | None = None
    #: The conversation of that task which its messages reach.
    conversation: Id | None = None
    #: Participant id -> who sits there.
    agents: Mapping[str, AgentBinding]
    stop: StopCondition
    options: ModeOptions = ModeOptions()
    #: Participant id of the orchestrator, in orchestrated sessions.
    orchestrator: str | None = None
    policy: FailurePolicy = FailurePolicy()
    #: Participant id -> its own policy instead of `policy`.
    policies: Mapping[str, FailurePolicy] = Field(default_factory=dict)
    #: What one turn may spend at most.
    limits: TurnLimits = TurnLimits()
    #: On whose account it runs.
    tenant: Tenant | None = None
    #: Handed to every agent as `TurnContext.parameters`.
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)

    #: `alignment`: turns are written in the dialogue format, and what they mark is kept in a ledger.
    protocol: Protocol | None = None

    #: Whose memory its turns use, and what its own message says.
    memory: MemoryOptions | None = None

    def policy_of(self, participant_id: str) -> FailurePolicy:
        """How this participant's failures are met."""
        return self.policies.get(participant_id, self.policy)
