"""Programs of the documentation, run as a reader runs them."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent, indent
from typing import Any

from processes.terminal import Terminal
from scaling import patient


def run_program(terminal: Terminal, *parts: str) -> str:
    """What a program prints that consists of these parts, started in the folder of the terminal."""
    program = terminal.folder / "program.py"
    program.write_text("\n".join(dedent(it) for it in parts))
    done = subprocess.run(
        [sys.executable, program.name],
        env=terminal.environment,
        cwd=terminal.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=False,
    )
    assert done.returncode == 0, f"{program.read_text()}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def run_here(*programs: str, **names: Any) -> dict[str, Any]:
    """Run programs in this process, one after the other with the same names; returns these."""
    names |= {"__name__": "__main__"}
    for program in programs:
        exec(compile(program, "documentation", "exec"), names)  # noqa: S102 - our own documentation
    return names


def in_coroutine(program: str) -> str:
    """A part with `await` outside of a function, as in a notebook, for a program."""
    return f"import asyncio\n\n\nasync def main():\n{indent(program, '    ')}\n\nasyncio.run(main())\n"
