"""For how long a worker was idle, by Celery's own counts."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from celery.worker import state

from symposia.workers.steps.sweep import IdleTimer


@pytest.fixture
def clean_counts() -> Iterator[None]:
    state.reset_state()
    yield
    state.reset_state()


@pytest.mark.usefixtures("clean_counts")
def test_idle_time_starts_again_with_each_task() -> None:
    now_s = 0.0
    idleness = IdleTimer(lambda: 2, clock=lambda: now_s)
    now_s = 5.0
    idleness.update()
    assert idleness.ms == 5_000
    state.all_total_count[0] += 1
    idleness.update()
    assert idleness.ms == 0


class Request(SimpleNamespace):
    """What Celery counts as active: anything that can be referred to weakly."""

    __hash__ = object.__hash__


@pytest.mark.usefixtures("clean_counts")
def test_a_worker_without_free_places_is_not_idle() -> None:
    now_s = 0.0
    idleness = IdleTimer(lambda: 1, clock=lambda: now_s)
    request = Request()
    state.active_requests.add(request)
    for now_s in (5.0, 10.0):  # noqa: B007 - the clock reads it
        idleness.update()
        assert idleness.ms == 0
    state.active_requests.discard(request)
    now_s = 20.0
    idleness.update()
    assert idleness.ms == 0, "the place was free at some time since the last look, nobody knows when"
    now_s = 23.0
    idleness.update()
    assert idleness.ms == 3_000
