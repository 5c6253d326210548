"""Reload of the code of agents: `symposia up --reload` watches it, and starts the workers again when it changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ...agents.registry.source import Stamp, stamp_of
from .code_check import CodeProbe
from .code_probe import CodeReport

#: Seconds between two looks at the files.
_LOOK_EVERY_S = 1.0


class CodeReloader:
    """Watcher of the code of agents.

    Changed code is first imported in a process of its own: with a new error in it, the workers keep the old code.

    Args:
        agents_file: The agents file, which may not exist.
        code: The code as it is now; an error in it prevents no reload.
        environment: Environment variables of the workers.
        reload: Starts the workers again.
        say: Callback for one line about each change.
    """

    def __init__(
        self,
        agents_file: Path,
        code: CodeReport,
        *,
        environment: Mapping[str, str],
        reload: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self._environment = environment
        self._reload = reload
        self._say = say
        self._stamps: dict[Path, Stamp] = {path: stamp_of(path) for path in (agents_file, *code.files)}
        self._agents_file = agents_file
        #: Errors in the code of the workers.
        self._known_problems = frozenset(code.code_problems)
        self._probe: CodeProbe | None = None
        #: Names of the files whose change is being checked.
        self._changed: list[str] = []
        self._next_look = 0.0

    def check_files(self) -> None:
        """Reload changed code; return at once if the last look is recent."""
        if self._probe is not None:
            if (report := self._probe.poll()) is not None:
                self._probe = None
                self._finish(report)
        elif time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK_EVERY_S
            stamps = {path: stamp_of(path) for path in self._stamps}
            self._changed += [path.name for path, stamp in stamps.items() if stamp != self._stamps[path]]
            if self._changed:
                self._stamps = stamps
                self._probe = CodeProbe(self._environment)

    def close(self) -> None:
        """End a running check."""
        if self._probe is not None:
            self._probe.close()

    def _finish(self, report: CodeReport) -> None:
        names = ", ".join(dict.fromkeys(self._changed))
        problems = [it for it in report.code_problems if it not in self._known_problems]
        problems += [str(it) for it in [report.refusal] if it is not None]
        # After an error, the files that were not reached are watched further.
        has_errors = problems or report.code_problems
        known = self._stamps if has_errors else {self._agents_file: self._stamps[self._agents_file]}
        read = {path: self._stamps.get(path, stamp_of(path)) for path in report.files}
        self._stamps, self._changed = {**known, **read}, []
        if problems:
            self._say(f"{names} changed, not reloaded, workers keep the old code: {'; '.join(problems)}")
        else:
            self._known_problems = frozenset(report.code_problems)
            self._say(f"{names} changed, reloading the workers after the turns in flight")
            self._reload()
