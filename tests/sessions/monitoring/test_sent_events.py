"""Monitors such as Flower get the sent event of each task with every worker pool."""

from __future__ import annotations

import pytest

from live import result_of, until
from symposia.models.sessions.stop_conditions import MaxRounds


@pytest.mark.long
@pytest.mark.parametrize(
    ("pool", "options"),
    [
        ("threads", ()),
        # Its processes are forked anew while the consumer gathers events.
        ("processes", ("--max-tasks-per-child", "4")),
        ("solo", ()),
    ],
)
@pytest.mark.parametrize("mode", ["round_robin", "broadcast"])
def test_each_task_has_a_sent_event(installation, monitor, pool, options, mode):
    installation.start_worker(concurrency=2, options=("--pool", pool, *options))
    agents = {"ann": "say", "bob": "say", "cyd": "say"}
    job = installation.submit(mode, agents, stop=MaxRounds(4))
    assert result_of(job).turns == 12

    def told() -> bool:
        sent, ended = monitor.told("task-sent"), monitor.told("task-succeeded")
        return len(ended) >= 13 and sent.keys() == ended.keys()

    until(told, what="every task was told as sent")
    turns = [it for it in monitor.told("task-sent").values() if "turn=" in it["kwargs"]]
    assert len({it["kwargs"] for it in turns}) == 12  # one may be sent again while processes are forked
    assert {it["root_id"] for it in turns} == {job.id}
    alone = {event.get("uuid") for event in monitor.alone}
    assert any(it["uuid"] in alone for it in turns) is (pool == "processes")
