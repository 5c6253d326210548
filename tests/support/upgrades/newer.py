"""A release with newer formats comes, goes and comes again, while older workers run beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from redis import Redis

from live import LiveWorker, until
from scaling import patient
from symposia.state.redis.keys import review_key, schedule_keys, session_key
from symposia.state.sessions.index import SessionIndex
from upgrades.clients import ClientProcess
from upgrades.installation import UpgradeInstallation
from upgrades.scenario import SUBMITTED, submission
from upgrades.versions import Versions

#: The panel of the review; the name of the schedule.
PANEL, SCHEDULE = "slow", "tick"

#: All keys of sessions, as Redis dumps them, with the times at which they expire.
Keys = dict[str, tuple[bytes, int]]


@dataclass
class NewerRelease:
    """Sessions, a review and a schedule in newer formats, and workers that cannot read them."""

    installation: UpgradeInstallation
    versions: Versions
    sessions: dict[str, str] = field(default_factory=dict)
    review: str = ""
    workers: list[LiveWorker] = field(default_factory=list)

    @cached_property
    def client(self) -> ClientProcess:
        """Return a client with the newer formats."""
        return self.installation.start_client("newer-client", code=self.versions.newer)

    @cached_property
    def redis(self) -> Redis:
        """Return a connection that reads what no client of today can read."""
        return self.installation.stack.enter_context(Redis.from_url(self.installation.redis_url))

    def submit(self) -> None:
        """Submit everything by the newer client. Each first turn may end, the later ones wait."""
        installation = self.installation
        for name in SUBMITTED:
            installation.open_gate(name, 1)
            self.sessions[name] = self.client.ask("submit", session=submission(name, title=name))
        installation.open_gate("tick")
        self.client.ask("add_schedule", name=SCHEDULE, every=2, job="tick")
        root, panels = str(installation.folder / "shop"), str(installation.folder / "panels.toml")
        self.review = self.client.ask("review", root=root, panel=PANEL, panels_file=panels)

    def start_released(self) -> LiveWorker:
        """Start a worker of the release."""
        return self._start("released")

    def start_newer(self) -> LiveWorker:
        """Start a worker with the newer formats."""
        return self._start("newer")

    def _start(self, version: str) -> LiveWorker:
        name = f"{version}-{len(self.workers)}"
        self.workers.append(
            worker := self.installation.start_worker(name, code=getattr(self.versions, version))
        )
        return worker

    def kill(self, worker: LiveWorker) -> None:
        """Kill a worker in the middle of its turns, and wait until their leases have expired."""
        worker.kill()
        until(lambda: not any(map(self._locks, self.sessions.values())), what="the leases expire")

    def _locks(self, session: str) -> list[bytes]:
        return list(self._scan(session_key(session, "lock:*")))

    @staticmethod
    def stop(worker: LiveWorker) -> None:
        """Stop a worker that runs no turns."""
        worker.ask_to_stop()
        assert worker.process.wait(patient(40)) == 0, worker.log()

    def closed(self, name: str) -> int:
        """Return the number of written turns of a session."""
        return int(self.redis.hget(session_key(self.sessions[name], "session"), "closed") or 0)

    def keys(self) -> Keys:
        """Return all keys of the sessions, of the review and of the runs of the schedule."""
        patterns = [session_key(it, "*") for it in self.sessions.values()]
        patterns += [review_key(self.review, part) for part in ("batch", "items", "waiting", "running")]
        patterns.append(schedule_keys(SCHEDULE)["history"])
        found = sorted(key for pattern in patterns for key in self._scan(pattern))
        return {key.decode(): (self.redis.dump(key), self.redis.pexpiretime(key)) for key in found}

    def _scan(self, pattern: str) -> Iterator[bytes]:
        return self.redis.scan_iter(pattern)

    def meet(self, worker: LiveWorker) -> None:
        """Let an older worker meet each session, the review and the schedule, which it leaves alone."""
        for session in self.sessions.values():
            # Else a parked session would be looked at within the hour.
            SessionIndex(self.redis).reschedule(session, 0)
            line = f"session {session!r} was written by a newer version of Symposia"
            until(lambda line=line: self._is_left_by_sweep(worker, line), what=line)
        for name in (f"review {self.review!r}", f"schedule {SCHEDULE!r}"):
            line = f"{name} was written by a newer version of Symposia"
            until(lambda line=line: line in worker.log(), what=line)

    @staticmethod
    def _is_left_by_sweep(worker: LiveWorker, line: str) -> bool:
        return any(
            line in it and it.endswith("leaving it to newer workers") for it in worker.log().splitlines()
        )
