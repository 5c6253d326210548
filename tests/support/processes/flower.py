"""`python -m processes.flower OPTION ...`: `symposia flower`, whose program runs in the same process.

The command replaces its process by that of Flower (exec). Here the process keeps what it has imported and runs the code of
Flower.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import NoReturn

from symposia.cli import main

#: What Flower and its command import, except the app, which reads the settings.
IMPORTED = (
    "celery.bin.celery",
    "flower.command",
    "symposia.cli.app",
    "symposia.cli.common.exit_codes",
    "symposia.cli.operations.serve",
    "symposia.dashboard.installer",
)


class _Replaced(BaseException):
    """The process would run another program now."""


def _leave(_program: str, command: list[str], environment: dict[str, str]) -> NoReturn:
    raise _Replaced(command, environment)


if __name__ == "__main__":
    os.execve = _leave  # type: ignore[assignment]
    try:
        main(["flower", *sys.argv[1:]])
    except _Replaced as replaced:
        command, environment = replaced.args
    os.environ.clear()
    os.environ.update(environment)
    _python, _module_option, module, *arguments = command
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
