"""Sessions that wait for a person: how fast they are submitted and parked, and what they cost while they wait."""

from __future__ import annotations

import time
from collections.abc import Iterator

from harness.loads import Load, Values, agents_of, build_collab
from harness.registry import Bench, case, median_ratio
from harness.results import Measure
from harness.stage import Place, Setup, wait_until

from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab

PEOPLE = {"ann": "human", "bob": "human"}


def submit_parked(place: Place, count: int) -> tuple[list[CollabJob], Values]:
    """Submit sessions whose first turn asks a person; return them and the rates, once all are parked."""
    collabs = [person_collab() for _ in range(count)]
    before = count_questions(place)
    began = time.perf_counter()
    jobs = [place.client.submit(collab, agents=PEOPLE) for collab in collabs]
    submitted = time.perf_counter()
    wait_until(lambda: count_questions(place) >= before + count, f"{count} sessions are parked")
    parked = time.perf_counter()
    return jobs, {"submitted": count / (submitted - began), "parked": count / (parked - began)}


def person_collab() -> Collab:
    """Return a session of two people."""
    return build_collab("round_robin", PEOPLE)


def count_questions(place: Place) -> int:
    """Return the number of open questions."""
    return int(place.redis.zcard("symposia:inbox"))


def send_bare(place: Place, count: int) -> Values:
    """Send bare tasks one by one; return the rates of sending and of running them."""
    bare = place.bare
    bare.clear()
    began = time.perf_counter()
    for number in range(count):
        bare.start(f"chain-{number:031}", width=1, rounds=1)
    sent = time.perf_counter()
    wait_until(lambda: bare.count_done() >= count, "bare tasks end")
    return {"submitted": count / (sent - began), "parked": count / (time.perf_counter() - began)}


@case("submit")
def submit_and_park(bench: Bench) -> Iterator[Measure]:
    """Rate of submitting sessions and of parking them for a person, next to sending and running a bare task."""
    place, count = bench.use(), bench.sizes.many

    def ours() -> Values:
        jobs, values = submit_parked(place, count)
        for job in jobs:
            job.cancel()
        wait_until(lambda: place.unfinished() == 0, "cancelled sessions are swept")
        return values

    yield from bench.alternate("sessions", ours, lambda: send_bare(place, count))


@case("parked", short=False)
def parked(bench: Bench) -> Iterator[Measure]:
    """Thousands of parked sessions: cost for 100 active ones, CPU of an idle worker, bytes in Redis."""
    sizes = bench.sizes
    bench.stage.leave()
    place = bench.use(Setup(archive=True))
    load = Load("round_robin", sizes.active, 8, agents_of("round_robin"))
    before = list(bench.compare("active, nothing parked", load, place=place))
    yield from before
    yield from idle(bench, place, "idle, nothing parked")
    bytes_before = used_bytes(place)
    submit_parked(place, sizes.parked)
    yield bench.exact("Redis, a parked session", "bytes", (used_bytes(place) - bytes_before) / sizes.parked)
    name = f"active, {sizes.parked:,} parked"
    after = list(bench.compare(name, load, place=place))
    yield from after
    yield from idle(bench, place, f"idle, {sizes.parked:,} parked")
    lost = 1 - median_ratio(after, name) / median_ratio(before, "active, nothing parked")
    yield bench.exact("cost of the parked for the active", "% of turns/s", lost * 100)
    bench.stage.leave()


def used_bytes(place: Place) -> int:
    """Return the bytes of all keys of the server."""
    return int(place.redis.info("memory")["used_memory_dataset"])


def idle(bench: Bench, place: Place, name: str) -> Iterator[Measure]:
    """Yield the CPU of the workers while they have nothing to do, in percent of a core."""
    seconds = bench.sizes.idle_s
    wait_until(lambda: place.archive_queue.count(before_ms=now_ms()) == 0, "the archive queue is empty")
    used = {kind: place.worker_cpu(kind) for kind in place.workers}
    began = time.perf_counter()
    time.sleep(seconds)
    took = time.perf_counter() - began
    ours, bare = ((place.worker_cpu(kind) - used[kind]) / took * 100 for kind in ("app", "plain"))
    yield Measure(bench.case, name, "% of a core", (ours,), (bare,), more_is_better=False)


def now_ms() -> int:
    """Return the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
