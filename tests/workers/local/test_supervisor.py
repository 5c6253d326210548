"""Services are started in order, kept up with growing patience, and stopped in reverse; real programs throughout."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType

import pytest

from live import until
from scaling import patient
from symposia.models.errors import ServiceEnded, StateError
from symposia.workers.local import services
from symposia.workers.local.services import ProcessService, worker_command
from symposia.workers.local.supervisor import (
    MAX_DELAY_S,
    STABLE_AFTER_S,
    Backoff,
    Interrupts,
    ShutdownFlag,
    Supervisor,
)

DEAF = "trap '' TERM; echo deaf; while :; do sleep 0.05; done"


class Noted:
    """Programs that write down what happens to them."""

    def __init__(self, folder: Path) -> None:
        self.diary = folder / "diary"
        self.said: list[str] = []
        self.heard: list[str] = []

    def program(self, name: str, script: str, *, stop_timeout_s: float | None = None) -> ProcessService:
        environment = {**os.environ, "DIARY": str(self.diary)}
        return ProcessService(
            name,
            ["sh", "-c", script],
            environment=environment,
            heard=self.heard.append,
            stop_timeout_s=stop_timeout_s,
        )

    def steady(self, name: str) -> ProcessService:
        note = f"trap 'echo -{name} >> $DIARY; exit 0' TERM; echo +{name} >> $DIARY"
        return self.program(name, f"{note}; while :; do sleep 0.05; done")

    def lines(self) -> list[str]:
        return self.diary.read_text().split() if self.diary.exists() else []


@pytest.fixture
def noted(tmp_path: Path) -> Noted:
    return Noted(tmp_path)


def supervisor(noted: Noted, *programs: ProcessService, **how) -> Supervisor:
    return Supervisor(programs, interrupts=Interrupts(), say=noted.said.append, **how)


def test_services_stop_in_reverse_order(noted):
    with supervisor(noted, noted.steady("a"), noted.steady("b"), noted.steady("c")):
        until(lambda: len(noted.lines()) == 3)
    assert noted.lines()[3:] == ["-c", "-b", "-a"]


@pytest.mark.long
def test_ended_service_is_restarted_after_a_delay(noted):
    with supervisor(noted, noted.program("brief", "echo once >> $DIARY; echo bye; exit 3")) as kept:
        until(lambda: kept.check_services() or len(noted.lines()) >= 3)
    assert noted.said[:2] == [
        "brief: ended with exit code 3: bye; restarting in 0.5 s",
        "brief: ended with exit code 3: bye; restarting in 1 s",
    ]
    assert set(noted.heard) == {"bye"}


def test_requested_restart_has_no_delay_and_no_line(noted):
    service = noted.steady("a")
    with supervisor(noted, service, noted.steady("b")) as kept:
        until(lambda: len(noted.lines()) == 2)
        kept.restart([service])
        kept.restart([service])  # while it ends
        until(lambda: kept.check_services() or len(noted.lines()) == 4)
    assert noted.lines()[2:] == ["-a", "+a", "-b", "-a"]
    assert noted.said == []


def test_requested_restart_of_an_ended_service_does_not_wait(noted):
    service = noted.program("brief", "echo once >> $DIARY; exit 3")
    with supervisor(noted, service) as kept:
        for count_of_starts in range(2, 5):
            until(lambda: kept.check_services() or len(noted.said) == count_of_starts - 1)  # noqa: B023
            kept.restart([service])
            until(lambda: kept.check_services() or len(noted.lines()) == count_of_starts)  # noqa: B023


def test_restart_delay_grows_and_resets():
    backoff = Backoff()
    delays = [backoff.delay_s(lived_s=1) for _ in range(9)]
    assert delays[:4] == [0.5, 1, 2, 4]
    assert delays[-1] == MAX_DELAY_S
    assert backoff.delay_s(lived_s=STABLE_AFTER_S + 1) == 0.5


def test_failing_service_is_given_up_on_request(noted):
    with (
        pytest.raises(
            ServiceEnded, match="brief failed 2 times in a row: ended with exit code 7: no luck"
        ) as caught,
        supervisor(noted, noted.program("brief", "echo no luck; exit 7"), gives_up_after=2) as kept,
    ):
        until(kept.check_services)
    assert isinstance(caught.value, StateError)


def test_failed_start_stops_the_other_services(noted):
    class Missing(ProcessService):
        def start(self) -> None:
            until(noted.lines)
            super().start()

    missing = Missing("missing", ["/no/such/program"], environment={}, heard=noted.heard.append)
    with pytest.raises(FileNotFoundError), supervisor(noted, noted.steady("a"), missing):
        pass
    assert noted.lines() == ["+a", "-a"]


def test_service_can_join_a_running_supervisor(noted):
    with supervisor(noted) as kept:
        kept.add_service(noted.steady("late"))
        until(noted.lines)
    assert noted.lines() == ["+late", "-late"]


@pytest.mark.parametrize("how", ["hurry", "patience"])
def test_unresponsive_service_is_killed(noted, how):
    program = noted.program("deaf", DEAF, stop_timeout_s=0.2 if how == "patience" else None)
    program.start()
    until(lambda: noted.heard)
    hurry = ShutdownFlag()
    if how == "hurry":
        threading.Timer(0.2, hurry.set).start()
    program.stop(hurry)
    assert program.exit_reason() is None
    program.stop(hurry)


@pytest.mark.long
def test_signal_while_stopping_is_handled(noted, monkeypatch):
    monkeypatch.setattr(services, "_POLL_S", 0.001)
    for moment in range(1, 40):
        program = noted.program("deaf", DEAF)
        program.start()
        until(lambda moment=moment: len(noted.heard) == moment)
        with Interrupts() as interrupts:
            interrupts.disarm()
            stop_and_strike(program, interrupts, at_line=moment)
        assert program.exit_reason() is None


def stop_and_strike(program: ProcessService, interrupts: Interrupts, *, at_line: int) -> None:
    """Stops it; a signal comes when so many lines of that have run, of the standard library too."""
    lines = count(1)

    def trace(_frame: FrameType, event: str, _: object) -> object:
        if event == "line" and next(lines) == at_line:
            signal.raise_signal(signal.SIGTERM)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        program.stop(interrupts.shutdown_flag)
    finally:
        sys.settrace(before)


def test_interrupt_before_the_handler_can_be_stopped(noted, monkeypatch):
    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    program = noted.program("brief", "exit 7")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            program.start()
    assert until(program.exit_reason) == "ended with exit code 7"
    program.stop(ShutdownFlag())
    assert program.exit_reason() is None


def test_killed_program_names_its_signal(noted):
    program = noted.program("victim", "echo $$; while :; do sleep 0.05; done")
    program.start()
    os.kill(int(until(lambda: noted.heard)[0]), signal.SIGKILL)
    assert until(program.exit_reason).startswith("was ended by SIGKILL")
    program.stop(ShutdownFlag())


class Finalized:
    """Does this when it is finalized."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._do = do

    def __del__(self) -> None:
        self._do()


def finalize_and_wait(do: Callable[[], object]) -> None:
    [Finalized(do)].clear()
    threading.Event().wait(patient(50))


class Slow(threading.Timer):
    """The first one has done its work before `start` answers."""

    is_slow = True

    def start(self) -> None:
        super().start()
        if Slow.is_slow:
            Slow.is_slow = False
            self.join()


@pytest.mark.parametrize("is_slow", [False, True])
def test_interrupt_in_a_finalizer_is_not_lost(is_slow, monkeypatch):
    """Nor where it comes again before that has ended."""
    monkeypatch.setattr(Slow, "is_slow", is_slow)
    monkeypatch.setattr(threading, "Timer", Slow)
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        finalize_and_wait(partial(signal.raise_signal, signal.SIGTERM))
    assert not interrupts.shutdown_flag.is_set()


def test_interrupt_in_a_finalizer_report_is_kept(monkeypatch):
    told = []

    def tell(it: sys.UnraisableHookArgs) -> None:
        signal.raise_signal(signal.SIGTERM)
        told.append(it.exc_type)

    monkeypatch.setattr(sys, "unraisablehook", tell)
    with Interrupts(), pytest.raises(KeyboardInterrupt):
        finalize_and_wait(lambda: 1 / 0)
    assert told == [ZeroDivisionError]


def test_signal_during_cleanup_shuts_down_at_once(
    monkeypatch,
):
    monkeypatch.setattr(sys, "unraisablehook", lambda _: signal.raise_signal(signal.SIGTERM))
    with Interrupts() as interrupts:
        interrupts.disarm()
        [Finalized(lambda: 1 / 0)].clear()
        assert interrupts.shutdown_flag.is_set()


def test_interrupt_does_not_wait_for_another_report(monkeypatch):
    tells, goes_on = threading.Event(), threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", lambda _: tells.set() or goes_on.wait(patient(50)))
    with Interrupts():
        other = threading.Thread(target=[Finalized(lambda: 1 / 0)].clear)
        other.start()
        assert tells.wait(patient(50))
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        goes_on.set()
        other.join()


def test_interrupt_during_nested_reports_is_not_lost(monkeypatch):
    def tell(it: sys.UnraisableHookArgs) -> None:
        if it.exc_type is ZeroDivisionError:
            [Finalized(lambda: int("x"))].clear()
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(sys, "unraisablehook", tell)
    with Interrupts(), pytest.raises(KeyboardInterrupt):
        finalize_and_wait(lambda: 1 / 0)


def test_second_signal_asks_for_a_fast_shutdown():
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert not interrupts.shutdown_flag.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.shutdown_flag.is_set()


def test_signal_during_shutdown_only_makes_it_fast():
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts() as interrupts:
        interrupts.disarm()
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.shutdown_flag.is_set()
    assert signal.getsignal(signal.SIGTERM) is before


def test_password_printed_by_a_program_is_hidden(noted):
    program = noted.program("chatty", "echo redis://:hush@host/0; exit 1")
    program.start()
    assert "redis://:***@host/0" in until(program.exit_reason)
    program.stop(ShutdownFlag())
    assert noted.heard == ["redis://:***@host/0"]


def test_worker_gets_chosen_settings_only():
    base = [sys.executable, "-m", "symposia.workers", "worker", "--loglevel", "INFO"]
    assert worker_command() == [*base, "--without-mingle", "--without-gossip"]
    assert worker_command(concurrency=3, pool="solo", name="w@%h", queues="a,b")[-4:] == [
        *("--concurrency=3", "--pool=solo", "--hostname=w@%h", "--queues=a,b")
    ]


def test_interrupt_reaches_the_handler_before():
    noted = []

    def note(number, frame):
        noted.append(number)
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, note)
    try:
        with Interrupts(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert noted == [signal.SIGINT]
