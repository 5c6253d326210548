"""A rolling restart: workers, beat and clients of two versions at the same time, while sessions of all kinds run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from live import LiveWorker, until
from processes.beats import LiveBeat
from scaling import patient
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import CollabStatus
from upgrades.clients import ClientProcess
from upgrades.installation import UpgradeInstallation
from upgrades.scenario import SUBMITTED, answer_all, run_to_the_middle, submission

#: Gates of what runs under another name than its gate.
_GATES = {"schedule_run": "schedule", "queued_run": "schedule"}


@dataclass
class RollingRestart:
    """One restart of two workers and a beat from one version to another.

    Args:
        installation: Where it happens.
        before, after: Folders with the code of both versions.
        kill: Whether workers are killed in the middle of their turns, instead of stopped with SIGTERM.
    """

    installation: UpgradeInstallation
    before: Path
    after: Path
    kill: bool
    #: Sessions, the review and runs of the schedule by their names in the scenario.
    ids: dict[str, str] = field(default_factory=dict)
    #: Sessions that clients submitted, by the title.
    submitted: dict[str, str] = field(default_factory=dict)
    workers: dict[str, list[LiveWorker]] = field(default_factory=lambda: {"before": [], "after": []})
    beats: list[LiveBeat] = field(default_factory=list)
    clients: dict[str, ClientProcess] = field(default_factory=dict)

    def run(self) -> None:
        """Start everything with the version before, replace one process after the other, and let all end."""
        self._start()
        self._submit("first")
        for number in range(2):
            self._replace_worker(number)
            self._submit(f"during{number}")
        self._replace_beat()
        self._finish()

    def gates(self) -> Iterator[tuple[str, CollabJob]]:
        """Yield all sessions with the names of their gates."""
        for name, session in {**self.ids, **self.submitted}.items():
            if name not in ("review", "queued_run"):
                yield _GATES.get(name, name), self.installation.client.get_job(session)
        for child in self.installation.client.get_job(self.ids["team"]).children():
            yield "team", child

    def _start(self) -> None:
        for name in ("before-1", "before-2"):
            self.workers["before"].append(self.installation.start_worker(name, code=self.before))
        self.beats.append(self.installation.start_beat("before-beat", code=self.before))
        self.clients = {
            "before": self.installation.start_client("before-client", code=self.before),
            "after": self.installation.start_client("after-client", code=self.after),
        }
        self.installation.open_gate("tick")
        self.installation.client.schedules.add("tick", every=2, job="tick")
        self.ids = run_to_the_middle(self.installation)

    def _submit(self, when: str) -> None:
        """Submit sessions by clients of both versions, which both follow them, and wait until their first turns run."""
        for version, client in self.clients.items():
            for name in SUBMITTED:
                title = f"{when}-{version}-{name}"
                self.submitted[title] = client.ask("submit", session=submission(name, title=title))
                for follower in self.clients.values():
                    follower.ask("follow", session=self.submitted[title])
        until(lambda: all(self._has_begun(it) for it in self.submitted.values()), what="first turns run")

    def _has_begun(self, session: str) -> bool:
        return self.installation.client.get_job(session).state().fence > 0

    def _replace_worker(self, number: int) -> None:
        worker = self.workers["before"][number]
        if self.kill:
            worker.kill()
        else:
            worker.ask_to_stop()
            until(lambda: "Warm shutdown" in worker.log(), what="the worker stops")
            (self.installation.folder / "gate").touch()  # that of the reviewer
            # Also those turns that begin on it in the meantime: it may have taken their messages before.
            until(lambda: self._end_turns() or worker.process.poll() is not None, what="the worker ends")
            assert worker.process.wait(patient(30)) == 0, worker.log()
        self.workers["after"].append(self.installation.start_worker(f"after-{number + 1}", code=self.after))

    def _end_turns(self) -> None:
        """Let the running turns of all sessions end; the next ones wait again."""
        for gate, job in self.gates():
            for record in job.state().open_turns():
                if record.status == "speaking":
                    self.installation.open_gate(gate, record.number)

    def _replace_beat(self) -> None:
        (before,) = self.beats
        before.close()
        seen = len(self.ticks())
        self.beats.append(self.installation.start_beat("after-beat", code=self.after))
        until(lambda: len(self.ticks()) > seen + 1, what="runs of the schedule after the beat was replaced")

    def ticks(self) -> list[Any]:
        """Return the runs of the schedule that is due every two seconds, newest first."""
        return self.installation.client.schedules.history("tick", count=1_000)

    def _finish(self) -> None:
        """Let all sessions end: those that wait are answered, by a client of the other version than submitted them."""
        for gate, _ in [*self.gates(), ("schedule", None)]:
            self.installation.open_gate(gate)
        (self.installation.folder / "gate").touch()
        suspended = self.installation.client.get_job(self.ids["suspended"])
        until(lambda: suspended.status() is CollabStatus.SUSPENDED, what="the session is suspended")
        suspended.resume()
        answer_all(self.installation, self.ids)
        for title, session in self.submitted.items():
            if title.endswith("question"):
                job = self.installation.client.get_job(session)
                until(job.pending, what=f"the question of {title}")
                other = self.clients["before" if "after" in title else "after"]
                other.ask("reply", session=session, name="ben", text="It is blue.")
        self.installation.client.schedules.pause("tick")

    def seen(self, session: str) -> Mapping[str, dict[str, Any]]:
        """Return what both clients have seen of a session."""
        return {
            version: client.ask("seen", session=session, timeout_s=patient(60))
            for version, client in self.clients.items()
        }

    def logs(self) -> dict[str, str]:
        """Return the logs of all workers, beats and clients by their files."""
        processes = [*self.workers["before"], *self.workers["after"], *self.beats, *self.clients.values()]
        return {it.log_file.name: it.log_file.read_text(errors="replace") for it in processes}
