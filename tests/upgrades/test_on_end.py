"""`on_end` of a session that a worker of an earlier release meets: workers of today send its message."""

from __future__ import annotations

import pytest
from redis import Redis

from live import until
from symposia.client.steps.on_end import end_message_id
from upgrades.installation import UpgradeInstallation
from upgrades.scenario import submission
from upgrades.versions import Versions

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


def test_earlier_release_leaves_the_message_to_today(
    installation: UpgradeInstallation, versions: Versions
) -> None:
    released = installation.start_worker("released", code=versions.released)
    signature = {"task": "shop.report", "options": {"queue": "ended"}}
    job = installation.client.submit(**submission("round_robin", title="older"), on_end=signature)
    job.cancel()
    with Redis.from_url(installation.redis_url, decode_responses=True) as redis:
        until(
            lambda: "was written by a newer version" in released.log(), what="the earlier release leaves it"
        )
        released.kill()
        installation.start_worker("today")
        until(lambda: redis.llen("ended"), what="the message is sent")
        until(lambda: redis.zscore("symposia:steps", job.id) is None, what="nothing is left to send")
        # The end of the session and the index of what is to be sent may each send it: its receiver runs one copy.
        assert all(end_message_id(job.id) in message for message in redis.lrange("ended", 0, -1))
