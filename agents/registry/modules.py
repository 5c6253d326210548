"""Agents of the modules that an agents file names.

Importing a module runs code, so only processes that run agents load them: workers, `symposia doctor`, replays, and
sessions in one process. A job cannot name a module. A module that cannot be imported is a problem like that of a
`python` agent whose code is missing: all other agents can be used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...models.errors import InvalidInput, RegistryError
from ..entry import AgentProblem
from ..execution.failures import to_agent_error
from ..execution.threads import DaemonThreadPool
from ..kinds.object import MarkedAgent, ObjectEntry, forget_unloaded, marked_in, object_entry


@dataclass(frozen=True, slots=True)
class LoadedModules:
    """Agents of modules, and the modules that could not be loaded."""

    entries: Mapping[str, ObjectEntry] = field(default_factory=dict)
    problems: Sequence[AgentProblem] = ()


NO_MODULES = LoadedModules()


@dataclass(slots=True)
class ModuleLoader:
    """Loader of the modules of one agents file.

    Args:
        path: Path of the file in messages.
        entries: Entries of the file, by name.
        threads: Threads for functions that are not async.
    """

    path: str
    entries: Mapping[str, object]
    threads: DaemonThreadPool
    _places: dict[str, MarkedAgent] = field(default_factory=dict, init=False)

    def load(self, modules: Sequence[str]) -> LoadedModules:
        """Import modules, and return their agents.

        Raises:
            RegistryError: A name is given twice.
        """
        entries: dict[str, ObjectEntry] = {}
        problems: list[AgentProblem] = []
        forget_unloaded()
        importlib.invalidate_caches()  # a module may be newer than the cached list of its folder
        for position, module in enumerate(modules):
            if (problem := _import_problem(module)) is None:
                try:
                    entries |= dict(self._read_marks(module))
                except InvalidInput as error:
                    problem = str(error)
            if problem is not None:
                problems.append(AgentProblem(self.path, "", f"modules[{position}]", f"{module}: {problem}"))
        return LoadedModules(entries, problems)

    def _read_marks(self, module: str) -> Iterator[tuple[str, ObjectEntry]]:
        for mark in marked_in(module):
            name = mark.options.name
            self._check_name(name, mark)
            yield name, object_entry(name, mark.given, threads=self.threads, mark=mark)

    def _check_name(self, name: str, mark: MarkedAgent) -> None:
        other = self._places.setdefault(name, mark)
        if other is mark and name not in self.entries:
            return
        first = self.path if other is mark else other.place
        rule = f"must not be given twice: in {first}, and in {mark.place}"
        raise RegistryError(self.path, entry=f"agents.{name}", field="", rule=rule)


def _import_problem(module: str) -> str | None:
    """Import a module, and return why it cannot be imported; None: it is imported."""
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any code may run here
        forget_unloaded()
        return f"cannot be imported: {to_agent_error(error)}"
    return None
