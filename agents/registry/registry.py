"""The registry: the agents of this machine by name, built-in and from the agents file.

Jobs refer to agents by name. Only the agents file, which belongs to the operator, can name code,
environment variables and URLs. An entry of the file with the name of a built-in agent (such as `local`,
the local model, `echo` and `noop`) replaces it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from ...models.errors import AgentError, InvalidInput, UnknownAgent
from ...models.memory.sentences import ModelParser, Parser, registered_parser
from ...models.sessions.known_agents import KnownAgents, ReaderModel
from ...models.sessions.limits import Rate, SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.turns.waiting import GuardTime, WaitPolicy
from ..agent import AnyAgent
from ..entry import UNKNOWN_SPENDING, AgentInfo, AgentProblem, FieldProblem, KindEnv, check_import
from ..execution.loading import load_callable
from ..execution.threads import DaemonThreadPool
from ..guards import CallableGuard, GuardEntry, check_guard_names
from ..kinds.object import ObjectEntry, object_entry
from ..kinds.session import SessionEntry, SessionFiles
from ..people import People
from ..tables import THIS_MACHINE, ModelEntry
from .agents_file import AgentEntry, AgentsFile, check_not_planted, read_agents_file
from .built_in import BUILT_IN
from .modules import NO_MODULES, ModuleLoader

if TYPE_CHECKING:
    from ..llm.settings import ModelSource

#: An agent of the agents file, or one that is given as an object.
Entry = AgentEntry | ObjectEntry

#: Hashable form of a binding, as cache key: bindings contain mappings, which have no hash.
_BindingKey = tuple[str, str | None, float | None, int | None, str, WaitPolicy | None, str, bool]

#: Reservation for a turn without a known bound.
DEFAULT_TOKENS = 4_000


#: Agents file in the working folder, used if the settings name no file.
DEFAULT_FILE = Path("agents.toml")

#: Threads for sync callables besides one per turn: the number that may hang before others have to wait.
SPARE_THREADS = 32


def _no_variable(_name: str) -> str | None:
    return None


def _no_local_model() -> str | None:
    return None


class Registry:
    """Agents by name. Safe to use from several threads.

    Args:
        file: Entries of the agents file.
        getenv: Returns the value of an environment variable; called only for variables named in the file.
        local_model: Returns the URL of the running local model, or None; called at every turn, on the event
            loop.
        concurrency: Number of turns that this process runs side by side.
        path: Path of the file in messages.
        objects: Agents that are given as objects, by name; see `agents/kinds/object.py`.
        import_modules: Whether the modules that the file names are imported. Otherwise their agents are unknown.
        threads: Threads of an earlier registry of this process; None: new ones.

    Raises:
        InvalidInput: An object is no agent.
        RegistryError: A module marks an agent whose name is given twice, or an object names an unknown guard.
    """

    def __init__(
        self,
        file: AgentsFile | None = None,
        *,
        getenv: Callable[[str], str | None] = _no_variable,
        local_model: Callable[[], str | None] = _no_local_model,
        concurrency: int = 8,
        path: str = "",
        objects: Mapping[str, object] = MappingProxyType({}),
        import_modules: bool = False,
        threads: DaemonThreadPool | None = None,
    ) -> None:
        file = file or AgentsFile()
        self.path = path
        self.modules = file.modules
        self.threads = threads or DaemonThreadPool(limit=concurrency + SPARE_THREADS)
        self._env = KindEnv(file, getenv, local_model, self.threads, file.sessions)
        given = {
            name: object_entry(name, agent_object, threads=self.threads)
            for name, agent_object in objects.items()
        }
        loader = ModuleLoader(path, file.agents, self.threads)
        marked = loader.load(file.modules) if import_modules else NO_MODULES
        for name, entry in {**marked.entries, **given}.items():
            check_guard_names(path or "no agents file", name, entry.guards, known=file.guards)
        self._guards = file.guards
        #: Where people are notified of their questions, by name.
        self.people: People = file.people
        self._parser = file.parser
        #: Modules that could not be loaded.
        self.module_problems = marked.problems
        self._entries: dict[str, Entry] = {**BUILT_IN, **file.agents, **marked.entries, **given}
        self._own = frozenset((*file.agents, *marked.entries, *given))
        self._cached_agent = lru_cache(maxsize=1_024)(self._create_agent)
        self._able = lru_cache(maxsize=1_024)(self._has_no_problem)
        self._windows = lru_cache(maxsize=1_024)(self._window)
        self._spending = lru_cache(maxsize=1_024)(self._most)
        self._rates = lru_cache(maxsize=1_024)(self._rate)
        self.introductions = lru_cache(maxsize=1_024)(self._introductions)

    @classmethod
    def load(
        cls,
        path: Path | None = None,
        *,
        getenv: Callable[[str], str | None] = _no_variable,
        local_model: Callable[[], str | None] = _no_local_model,
        concurrency: int = 8,
        objects: Mapping[str, object] = MappingProxyType({}),
        session_files: SessionFiles | None = None,
        import_modules: bool = False,
        threads: DaemonThreadPool | None = None,
    ) -> Registry:
        """Return the registry of a file; None: of `agents.toml` in the working folder, if it exists.

        `session_files`: how the session files that it names are read; None: it may name none.
        The other arguments are those of the class.

        Raises:
            InvalidInput: An object is no agent.
            RegistryError: The file is missing, is not TOML, or breaks a rule, or a module marks an agent whose name
                is given twice; the message names the rule.
        """
        if path is None and DEFAULT_FILE.is_file():
            path = DEFAULT_FILE
            check_not_planted(path)
        file = read_agents_file(path, session_files) if path is not None else None
        return cls(
            file,
            getenv=getenv,
            local_model=local_model,
            concurrency=concurrency,
            path=str(path or ""),
            objects=objects,
            import_modules=import_modules,
            threads=threads,
        )

    def changes_to(self, newer: Registry) -> list[str]:
        """Return the differences of another registry: `added ada`, `removed ben`, `changed cyd`."""
        names = sorted({*self._entries, *newer._entries})
        pairs = {name: (self._entries.get(name), newer._entries.get(name)) for name in names}
        return [
            f"{'added' if old is None else 'removed' if new is None else 'changed'} {name}"
            for name, (old, new) in pairs.items()
            if old != new or self.guards_of(name) != newer.guards_of(name)
        ]

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(sorted(self._entries))

    def known(self) -> KnownAgents:
        """Return all names, with those of people, of built-in agents and of models without a price."""
        people = [name for name, entry in self._entries.items() if entry.is_person]
        unpriced = [name for name, entry in self._entries.items() if entry.lacks_price(self._env)]
        return KnownAgents(
            self._entries, people=people, built_in=self._entries.keys() - self._own, unpriced=unpriced
        )

    def models(self) -> dict[str, ModelEntry]:
        """Return the models of the `[models]` tables and of the agents, sorted by name."""
        used = {name for entry in self._entries.values() for name in entry.model_names()}
        names = sorted({*self._env.tables.models, *used})
        return {name: self._env.tables.find_model(name) for name in names}

    def describe_price(self, model: str) -> str | None:
        """Return the prices of a model in one line; None: it has none. That of the local model is 0."""
        entry = self._env.tables.find_model(model)
        return "free" if entry is THIS_MACHINE else entry.describe_price()

    def model_sources(self) -> tuple[dict[str, ModelSource], dict[str, str]]:
        """Return the endpoints of `models`, and the problems of those that have none now."""
        from ..llm.entry import model_source

        sources, problems = {}, {}
        for name in self.models():
            try:
                sources[name] = model_source(name, self._env)
            except AgentError as error:
                problems[name] = str(error)
        return sources, problems

    def knows(self, name: str) -> bool:
        """Return whether there is an agent of that name."""
        return name in self._entries

    def can_run(self, name: str) -> bool:
        """Return whether there is an agent of that name, and nothing that it needs is missing here.

        Its code is imported by the first call; no model is called.
        """
        return self._able(name)

    def _has_no_problem(self, name: str) -> bool:
        entry = self._entries.get(name)
        return entry is not None and next(entry.check(self._env), None) is None

    def describe(self) -> tuple[AgentInfo, ...]:
        """Return all agents, sorted by name."""
        return tuple(
            AgentInfo(name, entry.kind, entry.describe(), built_in=name not in self._own)
            for name, entry in sorted(self._entries.items())
        )

    def queue_of(self, name: str) -> str:
        """Return the queue of an agent's turns; empty: the common one, or the agent is not known here."""
        entry = self._entries.get(name)
        return "" if entry is None else entry.agent_queue()

    def queues(self) -> dict[str, str]:
        """Return the queues of the agents that have one, by name of the agent."""
        return {name: queue for name in self.names() if (queue := self.queue_of(name))}

    def _introductions(self, agents: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
        """Return what participants are for, as the entries of their agents say; those that do not say are left out.

        Args:
            agents: Participant ids with their agents. An agent that is not known here says nothing.
        """
        entries = self._entries
        return {
            who: text
            for who, name in agents
            if (entry := entries.get(name)) is not None and (text := entry.introduction())
        }

    def reader_models(self) -> dict[str, ReaderModel]:
        """Return what a review must know of the model agents, by name of the agent."""
        readers = {name: entry.reader(self._env) for name, entry in sorted(self._entries.items())}
        return {name: model for name, model in readers.items() if model is not None}

    def needed_by(self, names: Iterable[str]) -> frozenset[str]:
        """Return agents with all agents of the sessions among them, and of the sessions that they may call."""
        sessions = [name for name, entry in self._entries.items() if isinstance(entry, SessionEntry)]
        needed: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in needed:
                continue
            needed.add(name)
            if name in self._entries:
                waiting += self._entries[name].agents_inside(sessions)
        return frozenset(needed)

    def program_identities(self) -> dict[str, str]:
        """Return the identities of the agents that run programs, by name of the agent."""
        identities = {name: entry.identity() for name, entry in sorted(self._entries.items())}
        return {name: identity for name, identity in identities.items() if identity is not None}

    def names_on_local_model(self, *, built_in: bool = True) -> tuple[str, ...]:
        """Return the names of the agents that use the local model, sorted; `built_in`: with those of Symposia."""
        names = self.names() if built_in else sorted(self._own)
        return tuple(name for name in names if self._entries[name].uses_local_model(self._env))

    def get_agent(self, binding: AgentBinding) -> AnyAgent:
        """Return the agent for a binding, with the binding's overrides.

        Raises:
            UnknownAgent: No agent of that name; the message lists similar names.
            InvalidInput: The binding's parameters are not valid for the agent.
            AgentError: Its code cannot be imported, or its packages are not installed.
        """
        return self._cached_agent(_key_of(binding))

    @property
    def parser(self) -> Parser | None:
        """The parser of users' sentences: that of the agents file, or the registered one; None: there is none.

        Raises:
            AgentError: Its code cannot be imported.
        """
        table = self._parser
        if table is None:
            return registered_parser()
        if table.agent is not None:
            return ModelParser(table.agent)
        return cast("Parser", load_callable(table.callable or ""))

    def guards_of(self, name: str) -> dict[str, GuardEntry]:
        """Return the guards of an agent by name, in the order in which they check."""
        entry = self._entries.get(name)
        return {guard: self._guards[guard] for guard in (entry.guards if entry is not None else ())}

    def checks_answers(self, name: str) -> bool:
        """Return whether guards check the answers of an agent, so that readers do not see them before."""
        return any(guard.when is GuardTime.AFTER for guard in self.guards_of(name).values())

    def window(self, binding: AgentBinding) -> int:
        """Return the maximum number of messages shown to the agent; 0 if the binding is not valid for it."""
        return self._windows(_key_of(binding))

    def spending_bound(self, binding: AgentBinding) -> SpendingBounds:
        """Return the most that one turn of this binding spends, as far as it is known."""
        return self._spending(_key_of(binding))

    def rate_limit(self, binding: AgentBinding, model: str | None = None) -> Rate | None:
        """Return the rate limit of a binding's first model, or of its given `model`; None: no limit."""
        return self._rates(_key_of(binding), model)

    def answers_later(self, binding: AgentBinding) -> bool:
        """Return whether the agent answers later, so that another agent may have taken the turn by now."""
        entry = self._entries.get(binding.agent)
        return entry is not None and entry.answers_later

    def check(self) -> list[AgentProblem]:
        """Return what would fail later: code that cannot be imported, variables that are not set; each once.

        Imports the registered callables; calls no model.
        """
        problems = [*self.module_problems]
        problems += [
            AgentProblem(self.path, fault.table or f"agents.{name}", fault.field, fault.rule)
            for name, entry in sorted(self._entries.items())
            for fault in self._check_entry(entry)
        ]
        problems += [
            AgentProblem(self.path, f"guards.{name}", fault.field, fault.rule)
            for name, guard in sorted(self._guards.items())
            if isinstance(guard, CallableGuard)
            for fault in check_import(guard.callable, "", "callable")
        ]
        problems += [
            AgentProblem(self.path, "parser", fault.field, fault.rule) for fault in self._check_parser()
        ]
        return list(dict.fromkeys(problems))

    def _check_parser(self) -> Iterator[FieldProblem]:
        table = self._parser
        if table is None:
            return
        if table.callable is not None:
            yield from check_import(table.callable, "", "callable")
        elif table.agent not in self._entries:
            yield FieldProblem("agent", str(UnknownAgent(table.agent or "", known=self._entries, field="")))

    def _check_entry(self, entry: Entry) -> Iterator[FieldProblem]:
        yield from entry.check(self._env)
        for field, name in entry.named_agents():
            if name not in self._entries:
                yield FieldProblem(field, str(UnknownAgent(name, known=self._entries, field="")))

    def _entry(self, name: str) -> Entry:
        entry = self._entries.get(name)
        if entry is None:
            raise UnknownAgent(name, known=self._entries)
        return entry

    def _create_agent(self, key: _BindingKey) -> AnyAgent:
        binding = _binding_of(key)
        return self._entry(binding.agent).create(binding, self._env)

    def _most(self, key: _BindingKey) -> SpendingBounds:
        binding = _binding_of(key)
        try:
            entry = self._entry(binding.agent)
            if (stand_in := entry.stand_in(binding)) is not None:
                entry, binding = self._entry(stand_in.agent), stand_in
            return entry.spending(binding, self._env)
        except UnknownAgent:
            return UNKNOWN_SPENDING

    def _rate(self, key: _BindingKey, model: str | None) -> Rate | None:
        entry = self._entries.get(key[0])
        first = None if entry is None else entry.rate_model()
        if first is None:
            return None
        name, most = model or first, self._most(key)
        model_entry = self._env.tables.find_model(name)
        if model_entry.requests_per_minute is None and model_entry.tokens_per_minute is None:
            return None
        return Rate(
            model=name,
            requests=model_entry.requests_per_minute,
            tokens=model_entry.tokens_per_minute,
            turn_tokens=DEFAULT_TOKENS if most.tokens is None else most.tokens,
        )

    def _window(self, key: _BindingKey) -> int:
        binding = _binding_of(key)
        # A guard that checks before the turn reads the newest message, even if the agent does not. In a review the
        # first message takes the place of another one.
        least = 2 * any(guard.when is GuardTime.BEFORE for guard in self.guards_of(binding.agent).values())
        try:
            return max(self._entry(binding.agent).window_for(binding), least)
        except InvalidInput:
            return 0


def _key_of(binding: AgentBinding) -> _BindingKey:
    parameters = json.dumps(binding.parameters, sort_keys=True) if binding.parameters else ""
    return (
        *(binding.agent, binding.instructions, binding.temperature, binding.max_tokens),
        *(parameters, binding.wait, json.dumps(binding.session) if binding.session else "", binding.batch),
    )


def _binding_of(key: _BindingKey) -> AgentBinding:
    agent, instructions, temperature, max_tokens, parameters, wait, session, batch = key
    return AgentBinding(
        agent=agent,
        instructions=instructions,
        temperature=temperature,
        max_tokens=max_tokens,
        parameters=json.loads(parameters or "{}"),
        wait=wait,
        session=json.loads(session) if session else None,
        batch=batch,
    )
