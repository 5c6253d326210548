"""Run all tests; run what failed once more, alone, and pass if that passes.

    python .ci/tests.py

A test that failed in a full run and passes alone is listed under "flaky": it is fixed next, and holds up no other
change meanwhile. More than MAX_FLAKY failures, one that fails twice, or a run that did not reach its end fail. The
tests of a worker process that crashed, or was stopped by a time limit, have failed.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

#: Most failures that are run again.
MAX_FLAKY = 5
SLOWEST = "--durations=50"
#: Lines of pytest: the last one, one of its list of failures, and the one of a run that ends early. The line of `make`
#: after pytest's exit code 1: tests failed.
SUMMARY = re.compile(r"^=* ?((?:\d+ \w+, )*\d+ \w+ in [\d.]+s.*?) ?=*$")
FAILURE = re.compile(
    r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$"
)  # not the record of a log, whose level is padded
STOPPED = re.compile(r"^!+ .+ !+$")
TESTS_FAILED = re.compile(r"^make.*\*\*\* \[.*test-all\] Error 1$")


@dataclass
class TestRun:
    """A run of the tests, read from its output."""

    passed: bool = False
    stopped: bool = False
    #: Whether all tests have run and some of them failed.
    complete: bool = False
    #: What pytest counted, such as "1 failed, 9507 passed in 408.10s".
    summary: str = "no summary"
    #: Ids of the tests that failed, those of crashed processes too. pytest's cache lacks the latter: xdist starts
    #: them again, and it forgets failed tests that pass later.
    failed: set[str] = field(default_factory=set)

    def read(self, line: str) -> None:
        """Read a line of the output."""
        if match := SUMMARY.match(line):
            self.summary = match[1]
        elif match := FAILURE.match(line):
            # xdist appends `@` and the group of a test to its id.
            self.failed.add(re.sub(r"@[^\]]*$", "", match[1]))
        elif STOPPED.match(line):
            self.stopped = True
        elif TESTS_FAILED.match(line):
            self.complete = not self.stopped


def main() -> int:
    """Run the tests; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        first = run_tests(cache, SLOWEST)
        if first.passed:
            return 0
        if not first.complete or not 0 < len(first.failed) <= MAX_FLAKY:
            print(f"{len(first.failed)} tests failed; up to {MAX_FLAKY} of a complete run are run once more.")
            return 1
        store_failures(cache, first.failed)
        again = run_tests(cache, "--last-failed", "--last-failed-no-failures=none", jobs=0)
    # All of them, and none was skipped or not found.
    flaky = again.passed and again.summary.startswith(f"{len(first.failed)} passed")
    print("\nflaky (failed, and passed alone):" if flaky else "\nfailed, and did not all pass alone:")
    print(*(f"  {test}" for test in sorted(first.failed)), sep="\n")
    print(f"all tests: {first.summary}; once more, alone: {again.summary}")
    return 0 if flaky else 1


def run_tests(cache: Path, *options: str, jobs: int | None = None) -> TestRun:
    """Run `make test-all` with pytest's cache in this folder, and pass its output on."""
    arguments = shlex.join([*options, "-o", f"cache_dir={cache}"])
    command = ["make", "test-all", f"ARGS={arguments}", *([] if jobs is None else [f"JOBS={jobs}"])]
    run = TestRun()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            run.read(line.rstrip())
    run.passed = process.returncode == 0
    return run


def store_failures(cache: Path, failed: set[str]) -> None:
    """Write the cache of pytest from which `--last-failed` reads."""
    file = cache / "v" / "cache" / "lastfailed"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(dict.fromkeys(sorted(failed), True)))


if __name__ == "__main__":
    sys.exit(main())
