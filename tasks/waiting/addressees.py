"""People who may be asked, and how long a question to them waits."""

from __future__ import annotations

from ...agents.kinds.external import DeferredAgent
from ...agents.kinds.human import HumanAgent
from ...models.errors import AgentError, BadOutcome, InvalidInput
from ...models.sessions.options import AgentBinding
from ...models.turns.turn import Question
from ...models.turns.waiting import ParkedQuestion, WaitPolicy
from ..runtime.runtime import Runtime
from ..views.session_views import SessionFacts


def check_asked(facts: SessionFacts, question: Question, *, decides: bool) -> None:
    """Check that a person may be asked.

    They are participants of kind human, approvers, and observers, who decide nothing. After a deadline,
    `may_ask_next` applies.

    Args:
        facts: The session.
        question: The question.
        decides: The answer approves or refuses something.

    Raises:
        BadOutcome: The person may not be asked this.
    """
    spec = facts.spec
    people = [name for name in facts.people if not (decides and name in spec.observers)]
    if question.to in people:
        return
    names = ", ".join(people) or "none exist"
    kinds = ["a participant of kind human", *(["an approver"] if spec.approvers else [])]
    kinds += ["an observer"] if spec.observers and not decides else []
    tool = f"tool {question.tool!r} needs an approval; " if question.is_for_approval else ""
    raise BadOutcome(f"{tool}question.to: must be {' or '.join(kinds)}: {names} (got {question.to!r})")


def may_ask_next(facts: SessionFacts, waiting: ParkedQuestion) -> bool:
    """Return whether the question may be passed to the next person of its policy: observers decide nothing."""
    return not (waiting.is_decision and waiting.policy.to in facts.spec.observers)


def wait_policy_of(runtime: Runtime, facts: SessionFacts, name: str) -> WaitPolicy:
    """Return the wait policy of a person who may be asked.

    It is that of their own agent; for people without turns, of the agent of their name if its kind is human.
    """
    binding = facts.spec.agents.get(name) or AgentBinding(agent=name)
    try:
        agent = runtime.registry.get_agent(binding)
    except (AgentError, InvalidInput):  # a problem of that agent is reported in its own turn
        return WaitPolicy()
    if name not in facts.roster and not isinstance(agent, HumanAgent):
        return WaitPolicy()
    return agent.wait if isinstance(agent, DeferredAgent) else WaitPolicy()
