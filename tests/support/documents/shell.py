"""Command lines of the documentation in a shell, as a person types them, and their answers."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from processes.terminal import Terminal
from scaling import patient

#: What a shell would not pass on as it is.
_SHELL = re.compile(r"[^\w\s./:=@%+,'\"-]")
#: Commands that run until Ctrl-C.
SERVICES = ("up", "worker", "beat", "flower", "callbacks", "serve")


def run_in_shell(
    terminal: Terminal, text: str, environment: Mapping[str, str], *, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a line in the folder of the terminal; `typed` is its standard input."""
    environment = {**terminal.environment, **environment}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    if text.startswith("symposia ") and not _SHELL.search(text):
        return terminal.complete(shlex.split(text)[1:], environment, stdin=typed, timeout_s=120)
    return subprocess.run(
        ["bash", "-c", text],
        cwd=terminal.folder,
        env=environment,
        input=typed,
        start_new_session=True,  # without a terminal, passwords are read from standard input
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=False,
    )


def is_answer(shown: str, out: str) -> bool:
    """Whether the output is as a page shows it; `...` matches any text, a space any number of spaces."""
    pattern = re.escape(_squeeze(shown)).replace(r"\.\.\.", ".*")
    return re.fullmatch(pattern, _squeeze(out), re.DOTALL) is not None


def _squeeze(text: str) -> str:
    return re.sub(r" ?\n", "\n", re.sub(r" +", " ", text)).strip()
