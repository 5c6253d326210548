"""Console lines of the documentation that no test types, each with the reason and a check of its words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from documents.checked_words import (
    check_activate,
    check_docker,
    check_extras,
    check_kubectl,
    check_make,
    check_run_as_unit,
    check_units,
    check_user,
)
from documents.lines import Line


class NotRun(NamedTuple):
    """Why lines are not typed, and what checks their words."""

    reason: str
    check: Callable[[Sequence[str]], None]


#: By the beginning of the line.
NOT_RUN = {
    r"(/opt/symposia/bin/python -m )?pip install ": NotRun(
        "tests/packaging/test_wheel.py and test_interpreters.py install the package", check_extras
    ),
    r"make (demo|test|bench)": NotRun("takes minutes; tests run the demo and short benchmarks", check_make),
    r"source ": NotRun("the shells of tests have the commands of the environment", check_activate),
    r"useradd ": NotRun("changes the users of the machine", check_user),
    r"(systemctl|journalctl) ": NotRun("needs root and a machine that systemd runs", check_units),
    r"systemd-run ": NotRun("needs root and a machine that systemd runs", check_run_as_unit),
    r"docker ": NotRun("needs a Docker engine and a registry", check_docker),
    r"kubectl ": NotRun("needs a Kubernetes cluster", check_kubectl),
}


def find_not_run(line: Line) -> NotRun | None:
    """Why a line is not typed; None if a test must type it."""
    return next((it for pattern, it in NOT_RUN.items() if re.match(pattern, line.text)), None)


def check_words(line: Line) -> None:
    """Fails if a line that is not typed names what does not exist."""
    if found := find_not_run(line):
        found.check(shlex.split(line.text))
