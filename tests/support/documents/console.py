"""A page of the documentation as a person follows it: writes its files, types its commands, reads the answers."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import NamedTuple

from documents.shell import SERVICES, is_answer, run_in_shell
from live import until
from processes.terminal import Running, Terminal

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)
_ASSIGNMENT = re.compile(r"(\w+)=\$\((.*)\)")
#: Commands that show a state: they are typed again until it is there.
LOOKS = ("doctor", "inbox", "schedule history")


class Command(NamedTuple):
    """A command line, and the lines below it."""

    text: str
    answer: str

    def is_answered_by(self, out: str) -> bool:
        """Whether the output is as the page shows it."""
        return is_answer(self.answer, out)


def read_blocks(page: str) -> list[tuple[str, str, str]]:
    """The language, file name and text of each block."""
    return _BLOCK.findall(page)


def read_commands(block: str) -> list[Command]:
    """The commands of a console block."""
    pieces = re.split(r"^(\$ .*|\^C)\n", block, flags=re.MULTILINE)
    return [
        Command(text.removeprefix("$ "), answer)
        for text, answer in zip(pieces[1::2], pieces[2::2], strict=True)
    ]


@dataclass
class Reader:
    """Follows a page in a terminal."""

    terminal: Terminal
    _services: list[Running] = field(default_factory=list)
    _variables: dict[str, str] = field(default_factory=dict)

    def follow(self, page: str) -> None:
        """Do what the page says, from top to bottom."""
        for language, name, text in read_blocks(page):
            if name:
                path = self.terminal.folder / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            elif language == "console":
                for command in read_commands(text):
                    self._type(command)
        self._stop_services()

    def _type(self, command: Command) -> None:
        words = shlex.split(command.text)
        if command.text == "^C":
            self._stop_services()
        elif words[0] == "cd":
            self.terminal.folder /= words[1]
        elif words[0] == "symposia" and words[1] in SERVICES:
            self._start(command)
        elif command.text.startswith(tuple(f"symposia {it}" for it in LOOKS)):
            until(lambda: command.is_answered_by(self._run(command.text)), timeout_s=60, what=str(command))
        else:
            out = self._run(command.text)
            assert command.is_answered_by(out), f"{command.text} prints\n{out}\nand not\n{command.answer}"

    def _start(self, command: Command) -> None:
        service = self.terminal.start(*shlex.split(command.text)[1:])
        if last := command.answer.strip().removeprefix("...").strip():
            service.until(last.splitlines()[-1], timeout_s=60)
        self._services.append(service)

    def _stop_services(self) -> None:
        for service in self._services:
            service.interrupt()
        for service in self._services:
            service.ended(timeout_s=60)
        self._services.clear()

    def _run(self, text: str) -> str:
        """The output of a command line; `NAME=$(...)` keeps it for later command lines."""
        assigned = _ASSIGNMENT.fullmatch(text)
        name, program = assigned.groups() if assigned else ("", text)
        done = run_in_shell(self.terminal, program, self._variables)
        assert not done.stderr or done.returncode in (0, 1), done.stderr
        if name:
            self._variables[name] = done.stdout.strip()
            return ""
        return done.stdout
