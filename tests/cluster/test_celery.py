"""Celery on a cluster of pytest-celery: the public API of the plugin works with each engine."""

from __future__ import annotations

import pytest
from celery import Celery, chain, chord, group
from pytest_celery import CeleryTestSetup, CeleryWorkerCluster
from pytest_celery.vendors.worker.tasks import add, identity, sleep, xsum

from live import until
from scaling import patient

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180), pytest.mark.long]
TIMEOUT_S = patient(30)


def test_task_result_is_returned_and_logged(celery_setup: CeleryTestSetup):
    assert celery_setup.ready(ping=True, control=True)
    result = add.s(2, 3).apply_async()
    assert result.get(timeout=TIMEOUT_S) == 5
    celery_setup.worker.wait_for_log(f"{add.name}[{result.id}] succeeded", timeout=TIMEOUT_S)
    celery_setup.worker.assert_log_does_not_exist("Traceback", timeout=0)


def test_chain_passes_results_on(celery_setup: CeleryTestSetup):
    assert chain(add.s(1, 2), add.s(3), add.s(4)).apply_async().get(timeout=TIMEOUT_S) == 10


def test_a_chord_waits_for_all_of_its_header(celery_setup: CeleryTestSetup):
    header = group(identity.s(number) for number in range(5))
    assert chord(header)(xsum.s()).get(timeout=TIMEOUT_S) == 10


def test_restarted_worker_runs_the_waiting_tasks(
    celery_setup: CeleryTestSetup,
):
    worker = celery_setup.worker
    worker.kill()
    assert worker.container.status == "exited"
    meanwhile = add.s(1, 1).apply_async()
    worker.restart()
    assert worker.container.status == "running"
    assert meanwhile.get(timeout=TIMEOUT_S) == 2


def test_terminated_worker_finishes_its_task(celery_setup: CeleryTestSetup):
    worker = celery_setup.worker
    under_way = sleep.s(1).apply_async()
    worker.wait_for_log(f"{sleep.name}[{under_way.id}] received", timeout=TIMEOUT_S)
    worker.kill("SIGTERM")
    assert under_way.get(timeout=TIMEOUT_S) is True
    until(lambda: worker.container.reload() or worker.container.status == "exited", what="the worker ends")


def test_restarted_broker_keeps_its_messages(celery_setup: CeleryTestSetup):
    celery_setup.worker.kill()
    held = add.s(20, 1).apply_async()
    celery_setup.broker.kill()
    celery_setup.broker.restart()
    celery_setup.worker.restart()
    assert held.get(timeout=TIMEOUT_S) == 21


def answering(app: Celery) -> set[str]:
    return {name for answer in app.control.ping() for name in answer}


class TestTwoWorkers:
    @pytest.fixture
    def celery_worker_cluster(self, two_celery_workers: CeleryWorkerCluster) -> CeleryWorkerCluster:
        return two_celery_workers

    def test_one_worker_continues_without_the_other(self, celery_setup: CeleryTestSetup):
        first, second = celery_setup.worker_cluster
        assert celery_setup.ready()
        both = {first.hostname(), second.hostname()}
        until(lambda: answering(celery_setup.app) == both, what="both workers answer")
        first.kill()
        assert [add.s(n, n).apply_async().get(timeout=TIMEOUT_S) for n in range(3)] == [0, 2, 4]
        for worker in (first, second):
            worker.container.reload()
        assert (first.container.status, second.container.status) == ("exited", "running")
