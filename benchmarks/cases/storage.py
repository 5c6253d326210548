"""What sessions cost at rest: bytes in Redis, a check by the sweep, a session written to the archive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from harness.errors import BenchmarkError
from harness.loads import Load, Values, bare_gaps_ms, submit, wait_archived
from harness.registry import Bench, case
from harness.results import Measure, percentile
from harness.stage import Place, Setup, wait_until

from cases.parked import now_ms, submit_parked
from symposia.client.building.app import create_app
from symposia.client.building.runtime import build_runtime
from symposia.state.redis.keys import SESSION_PARTS, session_key
from symposia.tasks.runtime.runtime import Runtime
from symposia.tasks.sessions.sweep import sweep

#: Workers that leave the sweep and the archive to the program that measures.
QUIET = Setup(sweep_interval_s=60, archive_interval_s=3_600)


@case("bytes")
def count_bytes(bench: Bench) -> Iterator[Measure]:
    """Bytes of a session's keys in Redis: all of them, and its messages alone."""
    place = bench.use()
    for turns in (4, 40):
        (job,) = submit(place, Load("round_robin", 1, turns))
        wait_until(lambda job=job: job.state().is_final, "the session ends")
        used = {part: _bytes(place, session_key(job.id, part)) for part in SESSION_PARTS}
        yield bench.exact(f"ended, {turns} messages", "bytes", sum(used.values()))
        yield bench.exact(f"ended, {turns} messages: dialog alone", "bytes", used["dialog"])
    wait_archived(place)
    (job,), _ = submit_parked(place, 1)
    used = {part: _bytes(place, session_key(job.id, part)) for part in SESSION_PARTS}
    yield bench.exact("parked, no message", "bytes", sum(used.values()))
    job.cancel()


def _bytes(place: Place, key: str) -> int:
    return int(place.redis.memory_usage(key, samples=0) or 0)


@case("sweep", short=False)
def sweep_cost(bench: Bench) -> Iterator[Measure]:
    """Time of a check of one parked session by the sweep, next to the time of a bare task."""
    place = bench.use(QUIET)
    runtime = runtime_at(place)
    jobs, _ = submit_parked(place, bench.sizes.many)

    def ours() -> Values:
        for job in jobs:
            runtime.index.set_due_by(job.id, 1)
        return {"each": timed_ms(lambda: sweep(runtime)) / len(jobs)}

    yield from bench.alternate("check", ours, lambda: bare_time(bench, place))
    left = runtime.index.count_due(before_ms=now_ms())
    for job in jobs:
        job.cancel()
    sweep(runtime)
    if left:
        raise BenchmarkError(f"the sweep left {left} of {len(jobs)} sessions")


@case("archiving", short=False)
def archive_cost(bench: Bench) -> Iterator[Measure]:
    """Time to write one ended session to the archive (SQLite), next to the time of a bare task."""
    place = bench.use(QUIET)
    runtime = runtime_at(place)
    count = bench.sizes.many
    assert runtime.ports.archiver is not None
    archiver = runtime.ports.archiver

    def ours() -> Values:
        jobs = submit(place, Load("round_robin", count, bench.sizes.turns))
        wait_until(lambda: place.unfinished() == 0, "the sessions end")
        spent = timed_ms(archiver.archive_due)
        wait_archived(place)
        assert len(jobs) == count
        return {"each": spent / count}

    name = f"session of {bench.sizes.turns} messages"
    yield from bench.alternate(name, ours, lambda: bare_time(bench, place))


def runtime_at(place: Place) -> Runtime:
    """Return a runtime in this process."""
    return build_runtime(create_app(place.settings), place.settings, redis_url=place.client.redis_url)


def bare_time(bench: Bench, place: Place) -> Values:
    """Return the time from one bare task to the next."""
    return {"each": percentile(bare_gaps_ms(place, bench.sizes.alone), 50)}


def timed_ms(work: Callable[[], object]) -> float:
    """Return the milliseconds that work takes."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000
