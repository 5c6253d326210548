"""`on_end` of a session that a worker of an earlier release ends: workers of today send its message."""

from __future__ import annotations

import pytest
from redis import Redis

from live import until
from symposia.client.steps.on_end import end_message_id
from symposia.state.redis.keys import DUE
from upgrades.installation import UpgradeInstallation
from upgrades.scenario import submission
from upgrades.versions import Versions

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


def test_end_by_an_earlier_release_sends_the_message(
    installation: UpgradeInstallation, versions: Versions
) -> None:
    released = installation.start_worker("released", code=versions.released)
    signature = {"task": "shop.report", "options": {"queue": "ended"}}
    job = installation.client.submit(**submission("round_robin", title="older"), on_end=signature)
    job.cancel()
    with Redis.from_url(installation.redis_url, decode_responses=True) as redis:
        until(lambda: redis.zscore(DUE, job.id) is None, what="the earlier release ends the session")
        released.kill()
        installation.start_worker("today")
        until(lambda: redis.llen("ended"), what="the message is sent")
        assert end_message_id(job.id) in redis.lindex("ended", 0)
        until(lambda: redis.zscore("symposia:steps", job.id) is None, what="nothing is left to send")
        assert redis.llen("ended") == 1
