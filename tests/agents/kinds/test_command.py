"""Programs as agents: what they are given, what their exit means, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import threading
import warnings
from pathlib import Path

import psutil
import pytest

from live import until
from scaling import patient
from symposia.agents.kinds.command import CommandAgent, CommandEntry
from symposia.agents.programs.process import Program, run_program
from symposia.models.attachments import Attachment
from symposia.models.errors import (
    AgentError,
    AgentFailed,
    AgentTimeout,
    AttachmentUnavailable,
    BadOutcome,
    LeaseLost,
)

PYTHON = "{python}"


def agent(*argv, getenv=os.environ.get, **entry):
    return CommandAgent(
        CommandEntry.model_validate({"kind": "command", "argv": argv, **entry}), getenv=getenv
    )


@pytest.fixture
def speak(runner, turn):
    def say(*argv, timeout_s=None, context=None, **entry):
        return runner.run(agent(*argv, **entry), context or turn(), timeout_s=timeout_s or patient(30))

    return say


def text(outcome):
    return outcome.messages[0].content


def python(code):
    return PYTHON, "-c", code


def test_printed_text_becomes_the_message(speak):
    assert text(speak("echo", "hello", "there")) == "hello there"


def test_printing_nothing_is_a_pass(speak):
    assert speak("true").passed


def test_arguments_are_not_run_by_a_shell(speak, tmp_path):
    canary = tmp_path / "canary"
    assert text(speak("echo", f"$(touch {canary});", "|", "cat")) == f"$(touch {canary}); | cat"
    assert not canary.exists()


def test_program_gets_the_turn_as_json(speak, turn, message):
    context = turn(messages=[message("bob", "hello")], instruction="be brief")
    seen = json.loads(text(speak("cat", context=context)))
    assert (seen["me"]["participant_id"], seen["instruction"]) == ("ann", "be brief")
    assert seen["messages"][0]["content"] == "hello"


def test_program_may_get_the_turn_as_a_file(speak):
    seen = json.loads(text(speak("cat", "{turn}", stdin="nothing")))
    assert seen["purpose"] == "Find a name"


def test_program_may_get_only_the_newest_message(speak, turn, message):
    context = turn(messages=[message("bob", "first"), message("cleo", "second")])
    assert text(speak("cat", stdin="text", context=context)) == "second"
    assert speak("cat", stdin="text").passed


def test_message_text_cannot_become_an_argument(speak, turn, message):
    context = turn(messages=[message("bob", "{python} {turn} --version")])
    assert text(speak("cat", stdin="text", context=context)) == "{python} {turn} --version"


def test_program_need_not_read_its_input(speak, turn, message):
    context = turn(messages=[message("bob", "x" * 1_000_000)])
    assert text(speak("echo", "fine", context=context)) == "fine"


@pytest.mark.parametrize(
    ("code", "codes", "says"),
    [(0, {}, True), (3, {"3": "say"}, True), (3, {"3": "pass"}, False), (0, {"0": "pass"}, False)],
)
def test_exit_code_may_mean_a_message_or_a_pass(speak, code, codes, says):
    outcome = speak(*python(f"print('found it'); raise SystemExit({code})"), exit_codes=codes)
    assert (outcome.passed, bool(outcome.messages)) == (not says, says)


@pytest.mark.parametrize(
    ("code", "codes", "again"),
    [(1, {}, False), (75, {}, True), (4, {"4": "retry"}, True), (0, {"0": "fail"}, False)],
)
def test_exit_code_failure_quotes_the_last_error_line(speak, code, codes, again):
    complaint = f"import sys; print('one', file=sys.stderr); print('two', file=sys.stderr); sys.exit({code})"
    with pytest.raises(AgentFailed, match=rf"^python\S* failed with exit code {code}: two$") as error:
        speak(sys.executable, "-c", complaint, exit_codes=codes)
    assert error.value.retryable is again


def test_secret_in_program_output_is_hidden(speak):
    with pytest.raises(AgentFailed) as error:
        speak(*python("import sys; sys.exit('password=hunter2 is wrong')"))
    assert "hunter2" not in str(error.value)


def test_program_killed_by_a_signal_is_retryable(speak):
    with pytest.raises(AgentFailed, match="was killed by SIGTERM") as error:
        speak(*python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"))
    assert error.value.retryable


def test_program_error_hides_its_variables(speak, monkeypatch):
    monkeypatch.setenv("A_CREDENTIAL", "correct horse\nbattery staple")
    monkeypatch.setenv("A_SWITCH", "no")
    given = ["A_CREDENTIAL", "A_SWITCH"]
    for line in (0, 1):
        code = f"import os, sys; sys.exit('no ' + os.environ['A_CREDENTIAL'].splitlines()[{line}] + ' here')"
        with pytest.raises(AgentFailed, match=r"exit code 1: no \*\*\* here$"):
            speak(*python(code), env=given)


def test_unnamed_signal_is_reported_by_number(speak):
    with pytest.raises(AgentFailed, match=r"was killed by signal 40$"):
        speak(*python("import os; os.kill(os.getpid(), 40)"))


def test_missing_program_is_not_retried(speak):
    with pytest.raises(AgentFailed, match="no-such-program cannot be run: ") as error:
        speak("no-such-program")
    assert not error.value.retryable


def test_output_of_a_program_is_limited(speak):
    assert len(text(speak(*python("print('x' * 1000)"), max_output_bytes=1001))) == 1000
    with pytest.raises(BadOutcome, match="printed more than 1000 bytes"):
        speak(*python("while True: print('x' * 1000)"), max_output_bytes=1000)


def test_error_output_of_a_program_is_limited(speak):
    lot = "import sys\nfor _ in range(10_000): print('x' * 1000, file=sys.stderr)\nprint('done')"
    assert text(speak(*python(lot))) == "done"


def test_invalid_utf8_output_is_replaced(speak):
    assert text(speak(*python(r"import sys; sys.stdout.buffer.write(b'a\xff\xfeb')"))) == "a\ufffd\ufffdb"


# -- what is left of it ---------------------------------------------------------------------

FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}")
print("started", flush=True)
if sys.argv[2] == "wait":
    time.sleep(600)
"""


@pytest.fixture
def family(tmp_path):
    """A program that starts another one, and how to see that both are gone."""
    notes = tmp_path / "pids"

    def processes():
        found = [psutil.Process(int(pid)) for pid in notes.read_text().split() if psutil.pid_exists(int(pid))]
        return [it for it in found if it.status() != psutil.STATUS_ZOMBIE]

    def gone():
        try:
            return not notes.exists() or not processes()
        except psutil.NoSuchProcess:
            return False

    return notes, gone


def test_child_processes_end_with_the_program(speak, family):
    notes, gone = family
    assert text(speak(*python(FAMILY), str(notes), "leave")) == "started"
    until(gone, what="the child is gone")


@pytest.mark.long
def test_program_timeout_kills_the_whole_group(runner, turn, family):
    notes, gone = family
    with pytest.raises(AgentTimeout, match="did not end within 2 s"):
        runner.run(agent(*python(FAMILY), str(notes), "wait", timeout_s=2), turn(), timeout_s=patient(60))
    until(gone, what="both are gone")


@pytest.mark.long
def test_deadline_kills_the_whole_process_group(speak, family):
    notes, gone = family
    with pytest.raises(AgentTimeout, match="no answer within 2 s"):
        speak(*python(FAMILY), str(notes), "wait", timeout_s=2)
    until(gone, what="both are gone")


def test_a_cancelled_turn_kills_the_whole_group(runner, turn, family):
    notes, gone = family
    speaking = runner.start(agent(*python(FAMILY), str(notes), "wait"), turn(), timeout_s=patient(60))
    until(notes.exists)
    speaking.cancel()
    with pytest.raises(LeaseLost):
        speaking.result()
    until(gone, what="both are gone")


def test_twice_cancelled_program_leaves_nothing_open(tmp_path):
    started = tmp_path / "started"
    argv = ("sh", "-c", f"touch {started}; exec sleep 600")
    sleeping = Program(argv, tmp_path, os.environ, limits={}, limit_bytes=1)

    async def cancelled_twice():
        running = asyncio.create_task(run_program(sleeping, b""))
        await asyncio.to_thread(until, started.exists)
        running.cancel()
        await asyncio.sleep(0)  # it kills the program, and waits for its end
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with warnings.catch_warnings(record=True) as left_open:
        warnings.simplefilter("always")
        asyncio.run(cancelled_twice())
        gc.collect()
    assert [str(it.message) for it in left_open] == []


@pytest.mark.long
def test_detached_child_does_not_delay_the_turn(speak, tmp_path):
    daemon = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'],"
        " start_new_session=True); print(p.pid)"
    )
    outcome = speak(*python(daemon))
    psutil.Process(int(text(outcome))).kill()


# -- where it runs --------------------------------------------------------------------------


def test_program_gets_only_the_allowed_variables(speak, monkeypatch):
    monkeypatch.setenv("PARTNER_TOKEN", "t0k3n")
    monkeypatch.setenv("OTHER_SECRET", "s3cret")
    show = python("import json, os; print(json.dumps(dict(os.environ)))")
    seen = json.loads(text(speak(*show, env=["PARTNER_TOKEN"])))
    assert seen["PARTNER_TOKEN"] == "t0k3n"
    assert set(seen) <= {"PARTNER_TOKEN", "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "NO_COLOR"}


def test_unset_variable_fails_the_turn_without_retry(speak):
    with pytest.raises(AgentFailed, match="environment variable NOWHERE_TO_BE_SEEN is not set") as error:
        speak("true", env=["NOWHERE_TO_BE_SEEN"])
    assert not error.value.retryable


def test_program_runs_in_a_temporary_folder(speak):
    where = python("import os; open('a file', 'w').write('x'); print(os.getcwd(), os.environ['HOME'])")
    folder, home = text(speak(*where)).split()
    assert folder == home
    assert not Path(folder).exists()


def test_program_may_run_in_a_fixed_folder(speak, tmp_path):
    assert text(speak("pwd", folder=str(tmp_path))) == str(tmp_path)


def test_kernel_enforces_the_limits(speak):
    with pytest.raises(AgentFailed, match="SIGXCPU") as error:
        speak(*python("while True: pass"), limits={"cpu_s": 1})
    assert not error.value.retryable
    with pytest.raises(AgentFailed, match="MemoryError"):
        speak(*python("x = bytearray(512 * 1024 * 1024)"), limits={"memory_mb": 256})
    with pytest.raises(AgentFailed, match=r"SIGXFSZ|File too large"):
        speak(*python("open('big', 'wb').write(bytes(4 * 1024 * 1024))"), limits={"file_mb": 1})


@pytest.mark.long
def test_program_over_its_cpu_limit_is_killed(speak):
    deaf = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    with pytest.raises(AgentFailed, match="SIGKILL") as error:
        speak(*python(deaf), limits={"cpu_s": 1})
    assert not error.value.retryable


def test_many_programs_run_in_parallel(runner, turn):
    said = []

    def one(number):
        said.append(text(runner.run(agent("echo", str(number)), turn(), timeout_s=patient(60))))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, said)) == list(range(12))


def test_program_failures_are_agent_errors(speak):
    for argv in (("no\nsuch",), ("/etc/passwd",), ("/",)):
        with pytest.raises(AgentError) as error:
            speak(*argv)
        assert "\n" not in str(error.value)


def test_program_reads_the_files_of_messages(runner, turn, message):
    class Reader:
        def read(self, name, sha256):
            if sha256 != file.sha256:
                raise AttachmentUnavailable(name, why="it is gone")
            return file.data

    file, missing = Attachment.of("../x".replace("/", "-"), b"\x00\xff"), Attachment.of("b", "b")
    said = message("bob", "Look.", 1).with_attachments([file.reference(), missing.reference()])
    code = (
        "import json, pathlib, sys\n"
        "turn = json.loads(pathlib.Path(sys.argv[1]).read_text())\n"
        "for it in turn['messages'][0]['event']['data']['attachments']:\n"
        "    path = pathlib.Path(sys.argv[2]) / it['sha256']\n"
        "    print(it['name'], path.read_bytes().hex() if path.exists() else 'missing')\n"
    )
    running = runner.start(
        agent(*python(code), "{turn}", "{attachments}"),
        turn(messages=[said]),
        timeout_s=patient(30),
        attachments=Reader(),
    )
    assert text(running.result()).splitlines() == ["..-x 00ff", "b missing"]
