"""Reload of the code of agents: `symposia up --reload` watches it, and starts the workers again when it changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ...agents.registry.source import Stamp, stamp_of
from .code_check import CodeProbe
from .code_probe import CodeReport

#: Seconds between two looks at the files.
_LOOK_EVERY_S = 1.0


class CodeReloader:
    """Watcher of the code of agents.

    Changed code is first imported in a process of its own: with an error in it, the workers keep the old code.

    Args:
        agents_file: The agents file, which may not exist.
        files: Source files that the code has now.
        environment: Environment variables of the workers.
        reload: Starts the workers again.
        say: Callback for one line about each change.
    """

    def __init__(
        self,
        agents_file: Path,
        files: Iterable[Path],
        *,
        environment: Mapping[str, str],
        reload: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self._environment = environment
        self._reload = reload
        self._say = say
        self._stamps: dict[Path, Stamp] = {path: stamp_of(path) for path in (agents_file, *files)}
        self._agents_file = agents_file
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
        problems = [*report.problems, *filter(None, [report.refusal])]
        # After an error, the files that were not reached are watched further.
        known = self._stamps if problems else {self._agents_file: self._stamps[self._agents_file]}
        read = {path: self._stamps.get(path, stamp_of(path)) for path in report.files}
        self._stamps, self._changed = {**known, **read}, []
        if problems:
            self._say(
                f"{names} changed, not reloaded, workers keep the old code: {'; '.join(map(str, problems))}"
            )
        else:
            self._say(f"{names} changed, reloading the workers after the turns in flight")
            self._reload()
