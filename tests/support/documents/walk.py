"""Types the console lines of a page as they are printed, and compares the answers."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from documents.lines import Line, read_sections
from documents.not_run import find_not_run
from documents.shell import SERVICES, is_answer, run_in_shell
from live import until
from processes.terminal import Running, Terminal

_ASSIGNMENT = re.compile(r"[A-Z_]+=")


@dataclass
class Walk:
    """What a person has, and does between two lines.

    The keys of the mappings are beginnings of lines. A key that no line begins with is an error.
    """

    terminal: Terminal
    #: Words of the page, such as an id, and what is typed for them. Answers are compared with the same words.
    values: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    #: Done before the line is typed.
    before: Mapping[str, Callable[[], object]] = field(default_factory=dict)
    #: Gets what the line has printed; or, while it runs, the service that it has started.
    after: Mapping[str, Callable[[Any], object]] = field(default_factory=dict)
    #: Done instead of a line that this machine cannot run.
    instead: Mapping[str, Callable[[], object]] = field(default_factory=dict)
    #: What the person types when the command asks.
    typed: Mapping[str, str] = field(default_factory=dict)
    #: Exit codes other than 0.
    codes: Mapping[str, int] = field(default_factory=dict)
    #: Lines that are typed again until they print this, as a person does who waits for something.
    awaited: Mapping[str, str] = field(default_factory=dict)
    #: Lines typed in another terminal, where they run until they end by themselves.
    elsewhere: tuple[str, ...] = ()
    _services: list[Running] = field(default_factory=list, init=False)
    _others: list[Running] = field(default_factory=list, init=False)

    def follow(self, page: str, *sections: str) -> None:
        """Type the lines of these sections of the page, or all of them."""
        hooks = (self.before, self.after, self.instead, self.typed, self.codes, self.awaited)
        unused = {key for it in hooks for key in it}
        with ExitStack() as stack:
            stack.callback(self._stop_services)
            for line in read_sections(page, *sections):
                unused -= {key for key in unused if line.text.startswith(key)}
                self._at(self.before, line, _nothing)()
                if stand_in := self._at(self.instead, line, None):
                    stand_in()
                elif find_not_run(line) is None:
                    self._type(line)
            for other in self._others:
                ended = other.ended(timeout_s=60)
                assert ended.code == 0, ended
        assert not unused, f"no line begins with {unused}"

    def _at(self, hooks: Mapping[str, Any], line: Line, default: Any) -> Any:
        return next((value for key, value in hooks.items() if line.text.startswith(key)), default)

    def _type(self, line: Line) -> None:
        words = shlex.split(self.fill(line.text))
        assigned = dict(it.split("=", 1) for it in takewhile(_ASSIGNMENT.match, words))
        words = words[len(assigned) :]
        after = self._at(self.after, line, _ignore)
        if words[0] == "symposia" and (words[1] in SERVICES or line.text.startswith(self.elsewhere)):
            started = self.terminal.start(*words[1:], **assigned)
            (self._services if words[1] in SERVICES else self._others).append(started)
            after(started)
            return
        done = self._await(line)
        assert done.returncode == self._at(self.codes, line, 0), done
        shown = self.fill(line.answer)
        assert not shown or is_answer(shown, done.stdout), f"{done}\nand not\n{shown}"
        if words[0] == "cd":
            self.terminal.folder /= words[1]
        after(done.stdout)

    def _await(self, line: Line) -> subprocess.CompletedProcess[str]:
        if (text := self._at(self.awaited, line, None)) is None:
            return self._run(line)

        def find() -> subprocess.CompletedProcess[str] | None:
            done = self._run(line)
            is_expected = done.returncode == self._at(self.codes, line, 0)
            return done if is_expected and text in done.stdout else None

        return until(find, timeout_s=60, what=f"{line.text} prints {text!r}")

    def _run(self, line: Line) -> subprocess.CompletedProcess[str]:
        return self.run(self.fill(line.text), self._at(self.typed, line, ""))

    def _stop_services(self) -> None:
        for service in reversed(self._services):
            ended = service.interrupt().ended(timeout_s=60)
            assert ended.code in (0, 130), ended

    def fill(self, text: str) -> str:
        """The text with the real values."""
        for word, value in self.values.items():
            text = text.replace(word, value)
        return text

    def run(self, text: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command line in the environment of the person."""
        return run_in_shell(self.terminal, text, self.environment, typed=typed)


def _nothing() -> None:
    pass


def _ignore(_: str | Running) -> None:
    pass
