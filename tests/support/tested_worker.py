"""The worker of the tests of sessions: one of our app, or of another app on which Symposia is installed, with a pool.

`make test-foreign` chooses them with the variables SYMPOSIA_TEST_APP and SYMPOSIA_TEST_POOL. A test with the marker
`worker_needs` is skipped if the worker lacks what it names, and so is a test that starts workers with another pool.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

import pytest

FOREIGN_APP = "processes.foreign_app"
IS_FOREIGN = os.environ.get("SYMPOSIA_TEST_APP") == "foreign"
#: The apps that are foreign in this run.
_FOREIGN_APPS = (FOREIGN_APP, "processes.step_app")
TESTED_APP = FOREIGN_APP if IS_FOREIGN else "symposia.workers"
POOL = os.environ.get("SYMPOSIA_TEST_POOL", "threads") if IS_FOREIGN else "threads"
#: Celery has two names for its pool of processes.
_ALIASES = {"processes": "prefork"}

Need = Literal["join that blocks", "own app", "slots", "threads"]
#: What tests need of a worker, whether the tested one lacks it, and the reason that the report of skipped tests shows.
_LACKS: dict[Need, tuple[bool, str]] = {
    "join that blocks": (POOL == "gevent", "a task of the pool gevent may wait for another one"),
    "own app": (IS_FOREIGN, "tests an option or a setting of our own app"),
    "slots": (POOL == "solo", "the pool solo runs one task at a time, in the thread of the consumer"),
    "threads": (POOL != "threads", "only the pool threads does this"),
}


def skip_if_lacking(item: pytest.Item) -> None:
    """Skip a test whose marker names what the tested worker lacks."""
    for marker in item.iter_markers("worker_needs"):
        for need in marker.args:
            is_lacking, reason = _LACKS[need]
            if is_lacking:
                pytest.skip(reason)


def options_of_worker(app: str, options: Sequence[str]) -> Sequence[str]:
    """Return the options of a worker with the tested pool; skip a test that is about another app or pool."""
    if not IS_FOREIGN and app != FOREIGN_APP:
        return options
    if app not in _FOREIGN_APPS:
        pytest.skip(f"starts workers of {app}")
    if "--pool" not in options:
        return [*options, "--pool", POOL]
    chosen = options[options.index("--pool") + 1]
    if IS_FOREIGN and _ALIASES.get(chosen, chosen) != POOL:
        pytest.skip(f"starts workers with the pool {chosen}")
    return options
