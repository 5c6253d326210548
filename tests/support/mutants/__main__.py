"""Lists the mutants of Lua scripts that no test finds: `make mutants ARGS="parked/reply turns/commit:27,29 --minutes 10"`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mutants.equivalents import equivalents, key
from mutants.mutator import Mutant, mutants
from mutants.running import RECORDED, Bench, record, script_names, tests_of, text_of


@dataclass
class Result:
    """What became of the mutants that were tried."""

    tried: int = 0
    survivors: list[Mutant] = field(default_factory=list)


def main() -> None:
    """Runs the tests of each script on each of its mutants."""
    options = _options()
    if options.record is not None or not options.recording.is_file():
        _say("recording which tests run which scripts ...")
        record(options.recording, options.record or ())
    deadline = time.monotonic() + options.minutes * 60
    result = Result()
    for name in options.scripts or script_names():
        script, _, lines = name.partition(":")
        made = [mutant for mutant in _mutants(script) if not lines or str(mutant.line) in lines.split(",")]
        tests = tests_of(script, options.recording, seconds=options.seconds)
        if made and tests and time.monotonic() < deadline:
            timeout_s = 30 + 4 * options.seconds
            _try_script(
                script,
                made,
                tests,
                result,
                timeout_s=timeout_s,
                deadline=deadline,
                verbose=options.verbose,
            )
        else:
            why = "no mutant" if not made else "no time left" if tests else "no test runs it"
            _say(f"{script}: left out, {why}")
    _say(
        f"\n{result.tried} mutants, {result.tried - len(result.survivors)} killed, {len(result.survivors)} survived"
    )
    _say("\n".join(map(str, result.survivors)))


def _mutants(script: str) -> list[Mutant]:
    left_out = equivalents()
    made = mutants(script, text_of(script))
    return [mutant for mutant in made if key(mutant) not in left_out]


def _try_script(
    script: str,
    made: Sequence[Mutant],
    tests: Sequence[str],
    result: Result,
    *,
    timeout_s: float,
    deadline: float,
    verbose: bool,
) -> None:
    """Tries the mutants of one script until the deadline."""
    began, tried, survived = time.monotonic(), 0, 0
    with Bench(script, tests, timeout_s=timeout_s) as bench:
        for test in bench.failing:
            _say(f"{script}: not used, it fails without a mutant: {test}")
        for mutant in made:
            if time.monotonic() > deadline or not bench.tests:
                break
            tried += 1
            killer = bench.killer(mutant.text)
            if killer is None:
                survived += 1
                result.survivors.append(mutant)
                _say(f"survived  {mutant}")
            elif verbose:
                _say(f"killed    {mutant}: {killer}")
        used = len(bench.tests)
    result.tried += tried
    took = time.monotonic() - began
    _say(f"{script}: {tried} of {len(made)} mutants, {survived} survived, {used} tests, {took:.0f} s")


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program for the terminal


def _options(args: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument(
        "scripts", nargs="*", help="names of scripts, or `name:lines`, as `turns/commit:27,29`; default: all"
    )
    parser.add_argument("--minutes", type=float, default=60, help="no mutant is begun after these (60)")
    parser.add_argument("--seconds", type=float, default=20, help="of tests for each mutant (20)")
    parser.add_argument("--verbose", action="store_true", help="also name the test that kills each mutant")
    parser.add_argument(
        "--recording", type=Path, default=RECORDED, help="where it is recorded which tests run which scripts"
    )
    parser.add_argument(
        "--record",
        nargs="*",
        metavar="PATH",
        help="record anew which tests run which scripts, in all or some paths",
    )
    return parser.parse_args(args)


if __name__ == "__main__":
    main()
