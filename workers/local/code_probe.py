"""Import of the code that an agents file names, in a process of its own: `python -m symposia.workers.local.code_probe`.

A supervisor must not run the code of agents. This program imports it as workers do, and prints one line of JSON:
the names of the agents, what is wrong with the code, and its files.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib.util import source_from_cache
from pathlib import Path

from pydantic import BaseModel

from ...config.settings import load_settings
from ...models.errors import RegistryError

#: Maximum number of files that are watched.
MAX_FILES = 2_000
#: Fields of the agents file that name code.
CODE_FIELDS = frozenset({"callable", "output"})
_PACKAGE = Path(__file__).parents[2]


class CodeReport(BaseModel):
    """What importing the code showed."""

    #: Source files of the code, without installed packages.
    files: tuple[Path, ...] = ()
    #: Names of all agents.
    names: tuple[str, ...] = ()
    #: Modules that cannot be imported, one line each.
    problems: tuple[str, ...] = ()
    #: All code that cannot be imported, these modules included, one line each.
    code_problems: tuple[str, ...] = ()
    #: Parts of the error of a wrong agents file: file, entry, field, rule.
    refused: tuple[str, str, str, str] | None = None

    @property
    def refusal(self) -> RegistryError | None:
        """The error with which workers would refuse the agents file; None: they would not."""
        if self.refused is None:
            return None
        file, entry, field, rule = self.refused
        return RegistryError(file, entry=entry, field=field, rule=rule)


class _OpenedFiles:
    """Audit hook that notes the source files that are opened; also those with an error in them."""

    def __init__(self) -> None:
        self.found: dict[Path, None] = {}
        self._installed = tuple(Path(path) for path in set(sysconfig.get_paths().values()))

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event != "open" or not isinstance(name := arguments[0], str) or not name.endswith((".py", ".pyc")):
            return
        path = Path(source_from_cache(name) if name.endswith(".pyc") else name).absolute()
        is_installed = any(path.is_relative_to(folder) for folder in (*self._installed, _PACKAGE))
        if not is_installed and len(self.found) < MAX_FILES:
            self.found[path] = None


def probe() -> CodeReport:
    """Import the code that the configured agents file names."""
    from ...client.building.runtime import load_registry

    opened = _OpenedFiles()
    settings = load_settings()
    sys.addaudithook(opened)
    try:
        registry = load_registry(settings, import_modules=True)
        wrong = [
            problem for problem in registry.check() if problem.field in CODE_FIELDS
        ]  # it imports the callables
    except RegistryError as error:
        return CodeReport(
            files=tuple(opened.found), refused=(error.file, error.entry, error.field, error.rule)
        )
    return CodeReport(
        files=tuple(opened.found),
        names=registry.names(),
        problems=tuple(map(str, registry.module_problems)),
        code_problems=tuple(map(str, [*registry.module_problems, *wrong])),
    )


def main() -> None:
    """Print the report; what the code prints goes to standard error."""
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    report = probe()
    with os.fdopen(output, "w", encoding="utf-8") as stream:
        stream.write(report.model_dump_json())
    sys.stdout.flush()
    os._exit(0)  # threads of the code may run


if __name__ == "__main__":
    main()
