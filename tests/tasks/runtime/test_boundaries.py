"""A turn comes by every boundary once, in order; a delivery that finds nothing to do only by the first."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.inline_runtime import InlineRuntime
from symposia.tasks.runtime.runtime import Boundary, no_fault_hook

SAY = '[agents.say]\nkind = "scripted"\nreplies = ["a word"]\n'

#: Boundaries between a session and its sub-session.
OF_SUB_SESSIONS = (Boundary.AFTER_PARK, Boundary.AFTER_OPEN, Boundary.BEFORE_ANSWER)


@pytest.fixture
def office(tmp_path: Path, redis_url: str) -> Iterator[InlineRuntime]:
    office = InlineRuntime(tmp_path, redis_url, SAY)
    yield office
    office.close()


def test_turn_passes_every_boundary_in_order(office: InlineRuntime) -> None:
    passed: list[tuple[Boundary, str, int]] = []
    office.runtime = dataclasses.replace(office.runtime, fault_hook=lambda *where: passed.append(where))
    job = office.submit("round_robin", {"ann": "say"}, stop={"max_turns": 1})
    office.deliver()
    (call,) = office.queue.waiting
    office.work()
    assert passed == [(boundary, job.id, 1) for boundary in Boundary if boundary not in OF_SUB_SESSIONS]

    passed.clear()
    office.queue.waiting.append(call)
    office.work()
    assert passed == [(Boundary.BEFORE_BEGIN, job.id, 1)]


def test_production_runtime_has_no_fault_hook(office: InlineRuntime) -> None:
    assert office.runtime.fault_hook is no_fault_hook
