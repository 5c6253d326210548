"""Lists the mutants of Lua scripts that no test finds: `make mutants ARGS="reply commit --minutes 10"`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from mutants.mutator import mutants
from mutants.running import LUA, RECORDED, record, sound, survives, tests_of


def main() -> None:
    """Runs the tests of each script on each of its mutants."""
    options = _options()
    if options.record is not None or not RECORDED.is_file():
        _say("recording which tests run which scripts ...")
        record(options.record or ())
    scripts = options.scripts or sorted(file.stem for file in LUA.glob("*.lua"))
    deadline = time.monotonic() + options.minutes * 60
    survivors, total = [], 0
    for script in scripts:
        left, tried = _try_script(script, options.seconds, deadline)
        survivors += left
        total += tried
    _say(f"\n{total} mutants, {total - len(survivors)} killed, {len(survivors)} survived")
    _say("\n".join(survivors))


def _try_script(script: str, seconds: float, deadline: float) -> tuple[list[str], int]:
    """The survivors of a script, and how many mutants were tried before the deadline."""
    tests = tests_of(script, seconds=seconds)
    made = mutants(script, sound(script).text)
    if not tests or time.monotonic() > deadline:
        _say(f"{script}: left out, {'no time left' if tests else 'no test runs it'}")
        return [], 0
    timeout_s = 30 + 4 * seconds
    if made and not survives(sound(script), tests, timeout_s=timeout_s):
        _say(f"{script}: left out, its tests fail without a mutant")
        return [], 0
    survivors: list[str] = []
    tried = 0
    for mutant in made:
        if time.monotonic() > deadline:
            break
        tried += 1
        if survives(mutant, tests, timeout_s=timeout_s):
            survivors.append(str(mutant))
            _say(f"survived  {mutant}")
    _say(f"{script}: {tried} of {len(made)} mutants, {len(survivors)} survived, {len(tests)} tests")
    return survivors, tried


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program for the terminal


def _options(args: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("scripts", nargs="*", help="names of scripts; default: all")
    parser.add_argument("--minutes", type=float, default=60, help="no mutant is begun after these (60)")
    parser.add_argument("--seconds", type=float, default=20, help="of tests for each mutant (20)")
    parser.add_argument(
        "--record",
        nargs="*",
        metavar="PATH",
        help="record anew which tests run which scripts, in all or some paths",
    )
    return parser.parse_args(args)


if __name__ == "__main__":
    main()
