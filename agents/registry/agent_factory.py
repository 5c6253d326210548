"""What follows from a registry entry and a binding: the agent, and upper bounds of a turn's usage.

The bounds are the reservation when the turn begins. That of a model's turn is one request with a full window.
Retries of failed requests and of answers of the wrong form are not included; their usage is counted when the
turn closes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from pydantic import ValidationError

from ...models.errors import InvalidInput, invalid_input
from ...models.sessions.known_agents import ReaderModel
from ...models.sessions.limits import Rate, SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.turns.message_lists import estimate_tokens
from ..agent import AnyAgent
from ..deferred import DeferredAgent, ExternalAgent, HumanAgent
from ..entry_base import FieldProblem
from ..execution.threads import DaemonThreadPool
from ..llm.entries import LLMEntry, ModelEntry
from ..llm.factory import ModelAgentFactory, check_import
from ..llm.prices import lacks_price
from ..objects import ObjectEntry
from ..programs.agent import CommandAgent, CommandEntry, check_command_entry
from ..python import PythonAgent, load_callable
from ..remote.entry import ExternalEntry
from ..scripted import scripted_agent
from ..sessions import SessionAgent, SessionEntry, describe_session, session_spending
from .agents_file import AgentEntry, AgentsFile, HumanEntry, PythonEntry, ScriptedEntry

#: An agent of the agents file, or one that is given as an object.
Entry = AgentEntry | ObjectEntry


class AgentFactory:
    """Factory of agents. Imports the packages of a kind when it creates the first agent of that kind."""

    def __init__(
        self,
        file: AgentsFile,
        *,
        getenv: Callable[[str], str | None],
        local_model: Callable[[], str | None],
        threads: DaemonThreadPool,
    ) -> None:
        sessions = {
            name: describe_session(it.document)
            for name, it in file.agents.items()
            if isinstance(it, SessionEntry)
        }
        self._llm = ModelAgentFactory(file, getenv=getenv, local_model=local_model, sessions=sessions)
        self._webhooks = file.webhooks
        self._getenv = getenv
        self._threads = threads

    def create_agent(self, binding: AgentBinding, entry: Entry) -> AnyAgent:
        """Return the agent of an entry, with the binding's overrides. Raises InvalidInput, AgentError."""
        match entry:
            case LLMEntry():
                return self._llm.create_agent(binding, entry)
            case PythonEntry():
                return PythonAgent(load_callable(entry.callable), threads=self._threads)
            case ScriptedEntry():
                script = merge_script(binding, entry)
                return scripted_agent(script.replies, at_end=script.at_end)
            case CommandEntry():
                return CommandAgent(entry, getenv=self._getenv)
            case HumanEntry() | ExternalEntry() | SessionEntry():
                return self._create_deferred_agent(binding, entry)
            case ObjectEntry():
                return entry.agent
            case _:
                assert_never(entry)

    def _create_deferred_agent(
        self, binding: AgentBinding, entry: HumanEntry | ExternalEntry | SessionEntry
    ) -> DeferredAgent:
        if isinstance(entry, SessionEntry):
            return _session_agent(binding, entry)
        if isinstance(entry, ExternalEntry):
            return ExternalAgent(entry, self._webhooks, self._getenv, binding.wait or entry)
        return HumanAgent(binding.wait or entry)

    def find_model(self, name: str) -> ModelEntry:
        """Return the entry of a model; a model without an entry gets the default settings."""
        return self._llm.find_model(name)

    def describe_reader(self, entry: Entry) -> ReaderModel | None:
        """Return what a review must know of a model agent; None: the agent is not a model."""
        return self._llm.describe_reader(entry) if isinstance(entry, LLMEntry) else None

    def uses_local_model(self, entry: Entry) -> bool:
        """Return whether the agent of an entry uses the local model."""
        return isinstance(entry, LLMEntry) and self._llm.uses_local_model(entry)

    def lacks_price(self, entry: Entry) -> bool:
        """Return whether a model of the agent of an entry has no price, so that its cost counts as 0."""
        if not isinstance(entry, LLMEntry) or self.uses_local_model(entry):
            return False
        return any(lacks_price(self.find_model(name)) for name in (entry.model, *entry.fallback))

    def check_entry(self, entry: Entry) -> Iterator[FieldProblem]:
        """Yield the problems of an entry, before a turn fails."""
        if isinstance(entry, PythonEntry):
            yield from check_import(entry.callable, "", "callable")
        elif isinstance(entry, LLMEntry):
            yield from self._llm.check_entry(entry)
        elif isinstance(entry, CommandEntry):
            yield from check_command_entry(entry, self._getenv)
        elif isinstance(entry, ExternalEntry) and not self._getenv(entry.secret_env):
            yield FieldProblem("secret_env", f"environment variable {entry.secret_env} is not set")


def _session_agent(binding: AgentBinding, entry: SessionEntry) -> SessionAgent:
    document = binding.session or entry.document
    if not document:
        raise InvalidInput("session", binding.session, "must be a session file, or a table of its fields")
    return SessionAgent(document)


def merge_script(binding: AgentBinding, entry: ScriptedEntry) -> ScriptedEntry:
    """Return the script of an entry; the binding's parameters `replies` and `at_end` take precedence.

    Raises:
        InvalidInput: These parameters are not a valid script.
    """
    own = {name: binding.parameters[name] for name in ("replies", "at_end") if name in binding.parameters}
    if not own:
        return entry
    try:
        return ScriptedEntry.model_validate({**entry.model_dump(by_alias=True), **own})
    except ValidationError as error:
        raise invalid_input(error, "parameters") from None


#: Tokens of the prompt of every request without the dialog and the agent's own instructions.
PROMPT_TOKENS = 500

#: Reservation for a turn without a known bound.
DEFAULT_TOKENS = 4_000

NO_SPENDING = SpendingBounds(tokens=0, cost_micros=0)
UNKNOWN_SPENDING = SpendingBounds()


def spending_bound(
    entry: Entry, binding: AgentBinding, model_named: Callable[[str], ModelEntry]
) -> SpendingBounds:
    """Return the most that one turn of a binding may spend; `model_named` returns the entry of a model."""
    match entry:
        case LLMEntry():
            models = [model_named(name) for name in (entry.model, *entry.fallback)]
            return _most_of_models(entry, binding, models)
        case ScriptedEntry():
            return _most_of_script(entry, binding)
        case PythonEntry() | ObjectEntry():
            return UNKNOWN_SPENDING
        case CommandEntry() | HumanEntry() | ExternalEntry():
            return NO_SPENDING
        case SessionEntry():
            return session_spending(binding.session or entry.document)
        case _:
            assert_never(entry)


def rate_limit_of(name: str, most: SpendingBounds, model_named: Callable[[str], ModelEntry]) -> Rate | None:
    """Return the rate limit of an agent's model, with the most tokens of one turn; None: no limit."""
    model = model_named(name)
    if model.requests_per_minute is None and model.tokens_per_minute is None:
        return None
    return Rate(
        model=name,
        requests=model.requests_per_minute,
        tokens=model.tokens_per_minute,
        turn_tokens=DEFAULT_TOKENS if most.tokens is None else most.tokens,
    )


def _most_of_models(entry: LLMEntry, binding: AgentBinding, models: list[ModelEntry]) -> SpendingBounds:
    answer = binding.max_tokens or entry.max_tokens
    if answer is None or entry.tools:  # answers and tool calls without a limit
        return UNKNOWN_SPENDING
    instructions = entry.instructions if binding.instructions is None else binding.instructions
    asked = max(entry.context_tokens or model.context_tokens for model in models)
    asked += PROMPT_TOKENS + estimate_tokens(instructions)
    costs = [_cost_micros(model, asked, answer) for model in models]
    return SpendingBounds(
        tokens=asked + answer,
        cost_micros=None if None in costs else max(cost or 0 for cost in costs),
    )


def _cost_micros(model: ModelEntry, asked: int, answer: int) -> int | None:
    """Return the cost by the registry's prices; None: no price (the price list is used after the turn)."""
    if model.input_usd_per_million is None and model.output_usd_per_million is None:
        return None
    dearest = max(model.input_usd_per_million or 0.0, model.cached_usd_per_million or 0.0)
    return round(asked * dearest + answer * (model.output_usd_per_million or 0.0))


def _most_of_script(entry: ScriptedEntry, binding: AgentBinding) -> SpendingBounds:
    try:
        spent = [reply.usage for reply in merge_script(binding, entry).replies]
    except InvalidInput:  # reported when the agent is created
        return UNKNOWN_SPENDING
    return SpendingBounds(
        tokens=max((usage.tokens for usage in spent), default=0),
        cost_micros=max((usage.cost_micros for usage in spent), default=0),
    )
