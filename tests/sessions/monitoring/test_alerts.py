"""Each alert rule fires for each of its causes, on real sessions, workers and servers, and none when all is well."""

from __future__ import annotations

import time

import pytest

from live import result_of, until
from monitoring.alert_causes import Cause, all_causes
from monitoring.alert_scenarios import LEAVES_KEYS, SITUATIONS, pair
from monitoring.prometheus import STUCK_AFTER_S, Prometheus

#: They start servers of their own.
pytestmark = pytest.mark.long


@pytest.fixture
def prometheus(installation, monkeypatch) -> Prometheus:
    monkeypatch.setenv("SYMPOSIA_STUCK_AFTER_S", str(STUCK_AFTER_S))
    return Prometheus(installation.redis_url).scrape()


def test_no_alert_fires_without_a_fault(installation, prometheus):
    installation.start_worker()
    for _ in range(5):
        result_of(pair(installation))

    def all_counted() -> bool:
        return prometheus.scrape().scrapes[-1][1].total("symposia_turns_total", outcome="message") == 20

    until(all_counted, what="the turns are counted")
    assert prometheus.firing() == {}


def test_session_waiting_for_a_person_is_not_stuck(installation, prometheus):
    installation.start_worker()
    job = pair(installation, "human")
    until(job.pending, what="the question")
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 3 * STUCK_AFTER_S, what="the time of a stuck session has passed")
    assert prometheus.scrape().firing() == {}
    job.cancel()


def _parameter(cause: Cause) -> object:
    marks = [pytest.mark.leaves_keys] if cause.alert in LEAVES_KEYS else []
    return pytest.param(cause, id=" ".join(filter(None, cause.name)), marks=marks)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("cause", [_parameter(it) for it in all_causes()])
def test_alert_fires_for_each_of_its_causes(installation, prometheus, cause: Cause):
    with SITUATIONS[cause.name](installation, prometheus):
        prometheus.until_firing(cause)


def test_every_cause_of_every_alert_has_a_situation():
    assert {cause.name for cause in all_causes()} == SITUATIONS.keys()
