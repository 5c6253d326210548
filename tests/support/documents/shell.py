"""Command lines of the documentation in a shell, as a person types them, and their answers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from processes.terminal import Terminal
from scaling import patient

#: Commands that run until Ctrl-C.
SERVICES = ("up", "worker", "beat", "flower", "callbacks")


def run_in_shell(
    terminal: Terminal, text: str, environment: Mapping[str, str], *, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a line in the folder of the terminal; `typed` is its standard input."""
    environment = {**terminal.environment, **environment}
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    return subprocess.run(
        ["bash", "-c", text],
        cwd=terminal.folder,
        env={**environment, "PATH": path},
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
