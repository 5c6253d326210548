"""The arena of the fault suite: a durable server, workers with their own wires, and rounds of sessions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from celery import signature
from redis.exceptions import RedisError

from chaos.audit.archived import FILE, differences
from chaos.audit.auditor import audit
from chaos.audit.evidence import DUE, Evidence, calls_by_session
from chaos.audit.families import audit_family
from chaos.audit.outcomes import NOTED, audit_step, count_runs
from chaos.machinery.courier import DELIVERED, Courier
from chaos.machinery.crew import Crew, Member
from chaos.machinery.server import Valkey
from chaos.machinery.wire import Wire
from chaos.people import People
from chaos.plays import Play
from chaos.rounds import Pace, Round
from chaos.script import Finding
from chaos.worker.agents import REGISTRY
from chaos.worker.orders import Order, Orders, Taken
from live import until
from scaling import patient
from servers.rabbit import Rabbit
from symposia.client import Client
from symposia.client.building.app import create_app
from symposia.client.steps.documents import STEP
from symposia.config.settings import load_settings
from symposia.models.errors import IllegalTransition, StateError, UnknownAgent
from symposia.models.sessions.on_end import ON_END
from symposia.state.redis.keys import session_key
from symposia.tasks.runtime.graph import broker_error

T = TypeVar("T")
#: Faults of one round.
MAX_FAULTS = 16
#: Seconds until an order is withdrawn to which no turn comes, though sessions go on.
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Broker:
    """A RabbitMQ node that carries the messages of an arena."""

    node: Rabbit
    #: Of a virtual host that is the arena's own.
    url: str


#: Befalls an arena; False: there was no occasion for it.
Fault = Callable[["Arena", Random], bool | None]


class Arena:
    """One server, one crew and one client. As a context manager it is always stopped."""

    def __init__(
        self,
        folder: Path,
        *,
        pace: Pace | None = None,
        defect: str = "",
        courier: bool = False,
        concurrency: int = 4,
        registry: str = "",
        database_url: str | None = None,
        broker: Broker | None = None,
    ) -> None:
        """`database_url`: of an archive that is not the file in the folder. `broker`: RabbitMQ, instead of the server."""
        self.folder = folder
        self.pace = pace or Pace()
        self.server = Valkey(folder / "server").start()
        self.orders = Orders(folder / "orders")
        #: Held by whoever does something to the server: one fault at a time.
        self.at_server = threading.Lock()
        #: Sessions that somebody may have cancelled.
        self.cancelled: set[str] = set()
        #: Sessions whose lock or fencing number was changed by hand.
        self.tampered: set[str] = set()
        #: Sessions of the round that runs, as far as they are submitted, and how many there will be.
        self.ids: list[str] = []
        self.expected = 0
        #: Their sub-sessions, which they open themselves.
        self.below: frozenset[str] = frozenset()
        self.courier = Courier(self.server.url) if courier else None
        self._wires: list[Wire] = []
        #: Ended sessions that were not found in the archive yet.
        self._owed: list[str] = []
        self._rounds = 0
        agents_file = folder / "agents.toml"
        agents_file.write_text(REGISTRY + registry)
        self.settings: dict[str, Any] = {
            "redis_url": self.server.url,
            "agents_file": agents_file,
            "data_dir": folder,
            "lease_s": self.pace.lease_s,
            "redispatch_after_s": self.pace.grace_s,
            "sweep_interval_s": self.pace.sweep_s,
            "retention_s": 1_800,
            "archive": True,
            "archive_interval_s": 0.2,
        }
        if database_url is not None:
            self.settings["database_url"] = database_url
        self.broker = broker
        if broker is not None:
            self.settings["broker_url"] = broker.url
        environment = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in self.settings.items()}
        self.crew = Crew(folder, {**environment, "CHAOS_DEFECT": defect}, concurrency=concurrency)
        self.client = Client(load_settings(**self.settings))

    def member(self, name: str, *options: str, **more: Any) -> Member:
        """Add a worker with its own wire to the crew."""
        wire = Wire(self.server.port)
        self._wires.append(wire)
        listens = ("-Q", DELIVERED) if self.courier else ()
        return Member(name, wire, (*options, *listens), **more)

    def move_to(self, server: Valkey) -> None:
        """From now on all talk to another server, and with the first one all is over."""
        self.server.close()
        self.server = server
        for wire in self._wires:
            wire.upstream = server.port
            wire.cut()
        self.settings["redis_url"] = server.url
        self.client = Client(load_settings(**self.settings))

    def with_workers(self, count: int = 2) -> Arena:
        """Starts `count` workers of threads."""
        self.crew.start([self.member(f"w{i + 1}") for i in range(count)])
        return self

    @property
    def restarts(self) -> int:
        """How often a worker was started again."""
        return sum(member.lives - 1 for member in self.crew.members)

    @property
    def wires(self) -> Sequence[Wire]:
        """One for each place in the crew."""
        return self._wires

    def insist(self, ask: Callable[[], T], *, timeout_s: float = 60.0) -> T:
        """Repeat a call until it is answered.

        The server may be down, full or read-only, and the only worker may be one that does not know the agents.
        """
        answers: list[T] = []

        def answered() -> bool:
            with suppress(RedisError, StateError, OSError, UnknownAgent):
                answers.append(ask())
            return bool(answers)

        until(answered, timeout_s=timeout_s, what="the server acts")
        return answers[0]

    def carried_out(self, order: Order) -> Taken | None:
        """Return the worker that carried out an order, or None and withdraw it if no turn reached the boundary."""

        def over() -> bool:
            return len(self.ids) == self.expected and not self.insist(lambda: self.server.client.zcard(DUE))

        return order.taken(timeout_s=PATIENCE_S, over=over)

    def submit(self, play: Play, **parameters: Any) -> None:
        """Submits a session; again, until it is."""
        how = dict(play.how)
        how["parameters"] = {"log": str(self.log), **how.get("parameters", {}), **parameters}
        if play.task is None:
            self.insist(lambda: self.client.submit(play.collab(), agents=play.agents, **how))
        else:
            self.insist(lambda: self._start_step(play, how))
        if how.get("draft"):
            self.insist(lambda: self._activate(play.id))
        self.ids.append(play.id)

    def _start_step(self, play: Play, how: Mapping[str, Any]) -> None:
        """Send a step. Without Redis it is sent, but would not be sent again: then all is repeated."""
        with closing(create_app(load_settings(**self.settings))) as app:
            app.symposia_settings = load_settings(**self.settings)
            app.loader.import_task_module("symposia.client.steps.celery_tasks")
            app.finalize()
            step = app.tasks[STEP].s(play.collab(), agents=play.agents, **how)
            with suppress(broker_error()):
                step.apply_async(task_id=play.task, link=signature(NOTED, app=app))
        if not self.server.client.exists(session_key(play.id, "step")):
            raise StateError("the step is not stored")

    def _activate(self, session: str) -> bool:
        with suppress(IllegalTransition):  # an activation whose answer was lost came before
            self.client.get_job(session).activate()
        return True

    @property
    def log(self) -> Path:
        """Where the agents of this round note their calls."""
        return self.folder / f"calls-{self._rounds}.jsonl"

    def run(
        self,
        plays: Sequence[Play],
        faults: Iterable[Fault] = (),
        *,
        seed: int = 0,
        think_ms: float = 100,
        timeout_s: float = 60.0,
        parameters: Mapping[str, Any] | None = None,
    ) -> Round:
        """Run sessions through faults; a session without progress for `timeout_s` is stuck.

        `parameters`: more for the agents.
        """
        self._rounds += 1
        self.ids.clear()
        self.expected = len(plays)
        families = [it for play in plays for it in play.family()]
        self.below = frozenset(play.id for play in families) - {play.id for play in plays}
        self.orders.only_for(play.id for play in families)
        self.cancelled.clear()
        self.tampered.clear()
        outcome = Round(sessions=len(plays))
        with closing(People(lambda: self.client, self.log)), ThreadPoolExecutor(MAX_FAULTS) as pool:
            befall = [
                pool.submit(self._befall, fault, Random(seed * 1_000 + i), outcome)
                for i, fault in enumerate(faults)
            ]
            for play in plays:
                self.submit(play, think_ms=think_ms, **(parameters or {}))
            outcome.befell = [befell.result() for befell in befall]
            self.orders.withdraw()
            self.orders.only_for(())
            outcome.findings += self._wait_for_the_end([play.id for play in families], timeout_s)
        self._judge(plays, outcome)
        return outcome

    def archived(self, *, timeout_s: float = 0.0) -> list[Finding]:
        """Return the differences of the archive for ended sessions; at the end it must have all of them."""
        findings: list[Finding] = []
        deadline = time.monotonic() + patient(timeout_s)
        while self._owed:
            seen = [self.insist(lambda id_=id_: Evidence(self.server.client, id_)) for id_ in self._owed]
            kept = [evidence for evidence in seen if evidence.session.get("archive") == "kept"]
            findings += [it for evidence in kept for it in differences(self.folder / FILE, evidence)]
            self._owed = [it.id for it in seen if it.session.get("archive") == "owed"]
            if time.monotonic() >= deadline:
                break
            time.sleep(0.2)
        late = self._owed if timeout_s else []
        return findings + [Finding(session, "archive", "it is not archived") for session in late]

    def close(self) -> None:
        """Takes all down."""
        self.crew.close()
        if self.courier is not None:
            self.courier.close()
        for wire in self._wires:
            wire.close()
        self.client._installation.sessions.workers._client.close()
        self.server.close()

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _befall(self, fault: Fault, random: Random, outcome: Round) -> bool:
        try:
            return fault(self, random) is not False
        except Exception as error:  # noqa: BLE001 - told with the findings of the round
            outcome.findings.append(Finding("", "harness", f"{fault}: {type(error).__name__}: {error}"))
            return False

    def _wait_for_the_end(self, sessions: Sequence[str], timeout_s: float) -> list[Finding]:
        """Findings for the sessions that are open, or in the due index, when nothing has happened for so long."""
        seen, deadline, still = None, 0.0, dict.fromkeys(sessions, "")
        while still := self.insist(lambda ids=tuple(still): self._open(ids)):
            if still != seen:
                seen, deadline = still, time.monotonic() + patient(timeout_s)
            if time.monotonic() > deadline:
                return [Finding(session, "stuck", self._how(session)) for session in still]
            time.sleep(0.1)
        return []

    def _open(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the active sessions and how many turns each has closed."""
        pipe = self.server.client.pipeline(transaction=False)
        for session in ids:
            pipe.hmget(f"symposia:{{{session}}}:session", ["status", "closed"])
            pipe.zscore(DUE, session)
        answers = pipe.execute()
        told = zip(ids, answers[::2], answers[1::2], strict=True)
        ended = {"completed", "cancelled"}
        return {
            session: closed
            for session, (status, closed), due in told
            # A sub-session of a cancelled session may never have been opened.
            if (status not in ended and (status or session in self.ids)) or due is not None
        }

    def _how(self, session: str) -> str:
        """How a session that does not end looks."""
        redis, key = self.server.client, f"symposia:{{{session}}}:"
        fields = redis.hmget(key + "session", ["status", "next", "closed", "version", "reason"])
        return f"{fields}, due {redis.zscore(DUE, session)}, turns {redis.hgetall(key + 'turns')}"

    def _judge(self, plays: Sequence[Play], outcome: Round) -> None:
        stuck = {finding.session for finding in outcome.findings if finding.kind == "stuck"}
        ended = [play for play in plays if play.id not in stuck]
        families = {play.id: list(play.family()) for play in ended}
        outcome.evidence = {
            it.id: Evidence(self.server.client, it.id) for family in families.values() for it in family
        }
        # Notes last: a call of a turn that comes too late is noted before anything of it is in Redis.
        outcome.calls = calls_by_session(self.log)
        for root, family in families.items():
            is_cut = root in self.cancelled
            for play in family:
                if outcome.evidence[play.id].session or play.id == root:
                    self._judge_one(play, outcome, is_cut=is_cut)
                is_cancelled = outcome.evidence[root].session["status"] == "cancelled"
                outcome.findings += audit_family(
                    play.script, outcome.evidence, is_cut=is_cut and is_cancelled
                )
                if play.task is not None or ON_END in play.how:
                    outcome.outcomes += 1
                    wrong = audit_step(self.server.client, play.task, outcome.evidence[play.id])
                    outcome.findings += [] if wrong is None else [wrong]
        self.log.unlink(missing_ok=True)
        outcome.runs = count_runs(self.folder)

    def _judge_one(self, play: Play, outcome: Round, *, is_cut: bool) -> None:
        evidence, below = outcome.evidence[play.id], [it.id for it in play.family()][1:]
        calls = {k: v for it in play.family() for k, v in outcome.calls[it.id].items()}
        outcome.findings += audit(
            evidence,
            play.script,
            calls,
            lease_ms=int(self.pace.lease_s * 1000),
            cancelled=is_cut,
            tampered=play.id in self.tampered,
            below=below,
        )
        if evidence.session.get("archive"):
            self._owed.append(play.id)
        outcome.turns += len(evidence.written)
        outcome.refused += evidence.refused
        outcome.takeovers += sum(closing.outcome == "expired" for closing in evidence.closings)
        outcome.longest_silence_ms = max(outcome.longest_silence_ms, evidence.longest_silence_ms)
