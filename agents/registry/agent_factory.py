"""Factory of agents of all kinds from registry entries and bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from pydantic import ValidationError

from ...models.errors import invalid_input
from ...models.sessions.options import AgentBinding
from ..agent import AnyAgent
from ..entry_base import FieldProblem
from ..execution.threads import DaemonThreadPool
from ..human import HumanAgent
from ..llm.entries import LLMEntry, ModelEntry
from ..llm.factory import ModelAgentFactory, check_import
from ..programs.agent import CommandAgent, check_command_entry
from ..programs.entry import CommandEntry
from ..python import PythonAgent, load_callable
from ..remote.agent import ExternalAgent
from ..remote.entry import ExternalEntry
from ..scripted import scripted_agent
from .agents_file import AgentEntry, AgentsFile, HumanEntry, PythonEntry, ScriptedEntry

#: Threads for sync callables besides one per turn: the number that may hang before others have to wait.
SPARE_THREADS = 32


class AgentFactory:
    """Factory of agents. Imports the packages of a kind when it creates the first agent of that kind."""

    def __init__(
        self,
        file: AgentsFile,
        *,
        getenv: Callable[[str], str | None],
        local_model: Callable[[], str | None],
        concurrency: int,
    ) -> None:
        self._llm = ModelAgentFactory(file, getenv=getenv, local_model=local_model)
        self._webhooks = file.webhooks
        self._getenv = getenv
        self._threads = DaemonThreadPool(limit=concurrency + SPARE_THREADS)

    def create_agent(self, binding: AgentBinding, entry: AgentEntry) -> AnyAgent:
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
            case HumanEntry():
                return HumanAgent(binding.wait or entry)
            case ExternalEntry():
                return ExternalAgent(entry, self._webhooks, self._getenv, binding.wait or entry)
            case _:
                assert_never(entry)

    def find_model(self, name: str) -> ModelEntry:
        """Return the entry of a model; a model without an entry gets the default settings."""
        return self._llm.find_model(name)

    def uses_local_model(self, entry: AgentEntry) -> bool:
        """Return whether the agent of an entry uses the local model."""
        return isinstance(entry, LLMEntry) and self._llm.uses_local_model(entry)

    def check_entry(self, entry: AgentEntry) -> Iterator[FieldProblem]:
        """Yield the problems of an entry, before a turn fails."""
        if isinstance(entry, PythonEntry):
            yield from check_import(entry.callable, "", "callable")
        elif isinstance(entry, LLMEntry):
            yield from self._llm.check_entry(entry)
        elif isinstance(entry, CommandEntry):
            yield from check_command_entry(entry, self._getenv)
        elif isinstance(entry, ExternalEntry) and not self._getenv(entry.secret_env):
            yield FieldProblem("secret_env", f"environment variable {entry.secret_env} is not set")


def merge_script(binding: AgentBinding, entry: ScriptedEntry) -> ScriptedEntry:
    """Return the script of an entry; the binding's parameters `replies` and `at_end` take precedence.

    Raises:
        InvalidInput: these parameters are not a valid script.
    """
    own = {name: binding.parameters[name] for name in ("replies", "at_end") if name in binding.parameters}
    if not own:
        return entry
    try:
        return ScriptedEntry.model_validate({**entry.model_dump(by_alias=True), **own})
    except ValidationError as error:
        raise invalid_input(error, "parameters") from None
