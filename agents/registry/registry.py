"""The registry: the agents of this machine by name, built-in and from the agents file.

Jobs refer to agents by name. Only the agents file, which belongs to the operator, can name code,
environment variables and URLs. An entry of the file with the name of a built-in agent (such as `local`,
the local model, `echo` and `noop`) replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from ...models.errors import InvalidInput, UnknownAgent
from ...models.sessions.known_agents import KnownAgents, ReaderModel
from ...models.sessions.limits import Rate, SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.turns.waiting import GuardTime, TimeoutAction, WaitPolicy
from ..agent import AnyAgent
from ..entry_base import AgentProblem, FieldProblem
from ..execution.threads import DaemonThreadPool
from ..guards.entries import CallableGuard, GuardedEntry, GuardEntry
from ..guards.names import check_guard_names
from ..llm.entries import LLMEntry
from ..llm.factory import check_import
from ..objects import ObjectEntry, object_entry
from ..programs.agent import CommandEntry
from ..programs.identity import program_identity
from ..scripted import messages_needed
from ..sessions import SessionEntry, SessionFiles
from .agent_factory import UNKNOWN_SPENDING, AgentFactory, Entry, merge_script, rate_limit_of, spending_bound
from .agents_file import AgentsFile, HumanEntry, ScriptedEntry, check_not_planted, read_agents_file
from .binding_keys import BindingKey, binding_of, key_of
from .built_in import BUILT_IN
from .descriptions import AgentInfo, entry_detail
from .modules import NO_MODULES, ModuleLoader
from .session_files import agents_inside

#: Agents file in the working folder, used if the settings name no file.
DEFAULT_FILE = Path("agents.toml")

#: Threads for sync callables besides one per turn: the number that may hang before others have to wait.
SPARE_THREADS = 32

#: Agents file of `symposia demo`.
DEMO_FILE = Path(__file__).with_name("demo.toml")


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
        objects: Agents that are given as objects, by name; see `agents/objects.py`.
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
        self._factory = AgentFactory(file, getenv=getenv, local_model=local_model, threads=self.threads)
        given = {name: object_entry(name, it, threads=self.threads) for name, it in objects.items()}
        loader = ModuleLoader(path, file.agents, self.threads)
        marked = loader.load(file.modules) if import_modules else NO_MODULES
        for name, entry in {**marked.entries, **given}.items():
            check_guard_names(path or "no agents file", name, entry.guards, known=file.guards)
        self._guards = file.guards
        #: Modules that could not be loaded.
        self.module_problems = marked.problems
        self._entries: dict[str, Entry] = {**BUILT_IN, **file.agents, **marked.entries, **given}
        self._own = frozenset((*file.agents, *marked.entries, *given))
        self._cached_agent = lru_cache(maxsize=1_024)(self._create_agent)
        self._able = lru_cache(maxsize=1_024)(self._has_no_problem)
        self._windows = lru_cache(maxsize=1_024)(self._window)
        self._spending = lru_cache(maxsize=1_024)(self._most)
        self._rates = lru_cache(maxsize=1_024)(self._rate)

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
        found = {name: (self._entries.get(name), newer._entries.get(name)) for name in names}
        return [
            f"{'added' if old is None else 'removed' if new is None else 'changed'} {name}"
            for name, (old, new) in found.items()
            if old != new or self.guards_of(name) != newer.guards_of(name)
        ]

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(sorted(self._entries))

    def known(self) -> KnownAgents:
        """Return all names, with those of people, of built-in agents and of models without a price."""
        people = [name for name, entry in self._entries.items() if isinstance(entry, HumanEntry)]
        unpriced = [name for name, entry in self._entries.items() if self._factory.lacks_price(entry)]
        return KnownAgents(
            self._entries, people=people, built_in=self._entries.keys() - self._own, unpriced=unpriced
        )

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
        return entry is not None and next(iter(self._factory.check_entry(entry)), None) is None

    def describe(self) -> tuple[AgentInfo, ...]:
        """Return all agents, sorted by name."""
        return tuple(
            AgentInfo(name, entry.kind, entry_detail(entry), built_in=name not in self._own)
            for name, entry in sorted(self._entries.items())
        )

    def reader_models(self) -> dict[str, ReaderModel]:
        """Return what a review must know of the model agents, by name of the agent."""
        found = {name: self._factory.describe_reader(self._entries[name]) for name in self.names()}
        return {name: model for name, model in found.items() if model is not None}

    def needed_by(self, names: Iterable[str]) -> frozenset[str]:
        """Return agents with all agents of the sessions among them, and of the sessions that they may call."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            waiting += agents_inside(self._entries.get(name), self._entries)
        return frozenset(found)

    def program_identities(self) -> dict[str, str]:
        """Return the identities of the agents that run programs, by name of the agent."""
        return {
            name: program_identity(entry)
            for name, entry in sorted(self._entries.items())
            if isinstance(entry, CommandEntry)
        }

    def names_on_local_model(self, *, built_in: bool = True) -> tuple[str, ...]:
        """Return the names of the agents that use the local model, sorted; `built_in`: with those of Symposia."""
        names = self.names() if built_in else sorted(self._own)
        return tuple(name for name in names if self._factory.uses_local_model(self._entries[name]))

    def get_agent(self, binding: AgentBinding) -> AnyAgent:
        """Return the agent for a binding, with the binding's overrides.

        Raises:
            UnknownAgent: No agent of that name; the message lists similar names.
            InvalidInput: The binding's parameters are not valid for the agent.
            AgentError: Its code cannot be imported, or its packages are not installed.
        """
        return self._cached_agent(key_of(binding))

    def guards_of(self, name: str) -> dict[str, GuardEntry]:
        """Return the guards of an agent by name, in the order in which they check."""
        entry = self._entries.get(name)
        names = entry.guards if isinstance(entry, GuardedEntry | ObjectEntry) else ()
        return {guard: self._guards[guard] for guard in names}

    def checks_answers(self, name: str) -> bool:
        """Return whether guards check the answers of an agent, so that readers do not see them before."""
        return any(guard.when is GuardTime.AFTER for guard in self.guards_of(name).values())

    def window(self, binding: AgentBinding) -> int:
        """Return the maximum number of messages shown to the agent; 0 if the binding is not valid for it."""
        return self._windows(key_of(binding))

    def spending_bound(self, binding: AgentBinding) -> SpendingBounds:
        """Return the most that one turn of this binding spends, as far as it is known."""
        return self._spending(key_of(binding))

    def rate_limit(self, binding: AgentBinding, model: str | None = None) -> Rate | None:
        """Return the rate limit of a binding's first model, or of its given `model`; None: no limit."""
        return self._rates(key_of(binding), model)

    def answers_later(self, binding: AgentBinding) -> bool:
        """Return whether the agent answers later, so that another agent may have taken the turn by now."""
        return isinstance(self._entries.get(binding.agent), WaitPolicy)

    def check(self) -> list[AgentProblem]:
        """Return what would fail later: code that cannot be imported, variables that are not set; each once.

        Imports the registered callables; calls no model.
        """
        found = [*self.module_problems]
        found += [
            AgentProblem(self.path, fault.table or f"agents.{name}", fault.field, fault.rule)
            for name, entry in sorted(self._entries.items())
            for fault in self._check_entry(entry)
        ]
        found += [
            AgentProblem(self.path, f"guards.{name}", fault.field, fault.rule)
            for name, guard in sorted(self._guards.items())
            if isinstance(guard, CallableGuard)
            for fault in check_import(guard.callable, "", "callable")
        ]
        return list(dict.fromkeys(found))

    def _check_entry(self, entry: Entry) -> Iterator[FieldProblem]:
        yield from self._factory.check_entry(entry)
        if (
            isinstance(entry, WaitPolicy)
            and entry.then is TimeoutAction.REASSIGN
            and entry.to not in self._entries
        ):
            yield FieldProblem("to", str(UnknownAgent(str(entry.to), known=self._entries, field="")))
        if isinstance(entry, SessionEntry):
            for name in entry.agents_in_use:
                if name not in self._entries:
                    yield FieldProblem("file", str(UnknownAgent(name, known=self._entries, field="")))

    def _entry(self, name: str) -> Entry:
        entry = self._entries.get(name)
        if entry is None:
            raise UnknownAgent(name, known=self._entries)
        return entry

    def _create_agent(self, key: BindingKey) -> AnyAgent:
        binding = binding_of(key)
        return self._factory.create_agent(binding, self._entry(binding.agent))

    def _most(self, key: BindingKey) -> SpendingBounds:
        binding = binding_of(key)
        try:
            entry = self._entry(binding.agent)
            if isinstance(entry, WaitPolicy) and (binding.wait or entry).then is TimeoutAction.REASSIGN:
                # The substitute is resolved only after the deadline.
                stand_in = binding.with_agent((binding.wait or entry).to)
                entry, binding = self._entry(stand_in.agent), stand_in
            return spending_bound(entry, binding, self._factory.find_model)
        except UnknownAgent:
            return UNKNOWN_SPENDING

    def _rate(self, key: BindingKey, model: str | None) -> Rate | None:
        entry = self._entries.get(key[0])
        if not isinstance(entry, LLMEntry):
            return None
        return rate_limit_of(model or entry.model, self._most(key), self._factory.find_model)

    def _window(self, key: BindingKey) -> int:
        binding = binding_of(key)
        # A guard that checks before the turn reads the newest message, even if the agent does not. In a review the
        # first message takes the place of another one.
        least = 2 * any(it.when is GuardTime.BEFORE for it in self.guards_of(binding.agent).values())
        try:
            entry = self._entry(binding.agent)
            if isinstance(entry, ScriptedEntry) and entry.window is None:
                return max(messages_needed(merge_script(binding, entry).replies), least)
        except InvalidInput:
            return 0
        return max(entry.window or 0, least)
