"""A turn comes by every boundary once, in order; a delivery that finds nothing to do only by the first."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.inline_installation import InlineInstallation
from symposia.tasks.runtime.runtime import Boundary, no_fault_hook

SAY = '[agents.say]\nkind = "scripted"\nreplies = ["a word"]\n'

#: Boundaries between a session and its sub-session.
OF_SUB_SESSIONS = (Boundary.AFTER_PARK, Boundary.AFTER_OPEN, Boundary.BEFORE_ANSWER)


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[InlineInstallation]:
    installation = InlineInstallation(tmp_path, redis_url, SAY)
    yield installation
    installation.close()


def test_turn_passes_every_boundary_in_order(installation: InlineInstallation) -> None:
    passed: list[tuple[Boundary, str, int]] = []
    installation.runtime = dataclasses.replace(
        installation.runtime, fault_hook=lambda *where: passed.append(where)
    )
    job = installation.submit("round_robin", {"ann": "say"}, stop={"max_turns": 1})
    installation.deliver()
    (call,) = installation.queue.waiting
    installation.work()
    assert passed == [(boundary, job.id, 1) for boundary in Boundary if boundary not in OF_SUB_SESSIONS]

    passed.clear()
    installation.queue.waiting.append(call)
    installation.work()
    assert passed == [(Boundary.BEFORE_BEGIN, job.id, 1)]


def test_production_runtime_has_no_fault_hook(installation: InlineInstallation) -> None:
    assert installation.runtime.fault_hook is no_fault_hook
