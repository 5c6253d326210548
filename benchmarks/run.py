"""Measure turns and what belongs to them, next to bare Celery tasks in the same run.

    make bench                                         # the short cases, about five minutes
    make bench-full ARGS="--save now.json"             # all cases, about an hour
    python benchmarks/run.py --only modes length --baseline before.json

Every value of ours is measured in alternation with bare Celery: the same pool, the same settings, the same hour. Compare
ratios, never times of different runs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from harness.circumstances import describe_circumstances
from harness.errors import BenchmarkError, SkippedCase
from harness.registry import CASES, Bench, Case
from harness.results import Results, compare
from harness.sizes import SIZES
from harness.stage import Stage
from harness.table import print_changes, print_results, to_markdown

#: Modules of `cases`, in the order of the table. Each registers its cases when it is imported.
FAMILIES = (
    "modes",
    "sizes",
    "reading",
    "prompts",
    "review_requests",
    "parked",
    "storage",
    "steps",
    "workers",
    "fairness",
    "peers",
    "programs",
)
for _family in FAMILIES:
    import_module(f"cases.{_family}")


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--size", choices=sorted(SIZES), default="short", help="sizes of the loads (default short)"
    )
    names = sorted(CASES) + sorted({case.group for case in CASES.values() if case.group})
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=names, help="run these cases, or groups of cases"
    )
    parser.add_argument("--list", action="store_true", help="list the cases")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the results to a JSON file")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="compare with results saved before")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to a Markdown file")
    return parser.parse_args()


def choose_cases(options: argparse.Namespace) -> list[Case]:
    """Return the named cases; without names, those of the size."""
    if options.only:
        named = [case for name in options.only for case in CASES.values() if name in (case.name, case.group)]
        return list(dict.fromkeys(named))
    return [case for case in CASES.values() if case.short or options.size == "full"]


def print_list() -> None:
    """Print name and text of every case."""
    for case in CASES.values():
        kind = "short, full" if case.short else "full"
        print(f"{case.name:<31} {kind:<12} {case.text}")


def run(chosen: list[Case], size: str) -> Results:
    """Run cases, and report each on the standard error output."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Stage(Path(folder))
        try:
            results = Results(size, describe_circumstances(environment.connect()))
            for case in chosen:
                began = time.monotonic()
                try:
                    results.measures += case.run(Bench(case.name, environment, SIZES[size]))
                except SkippedCase as why:
                    results.skipped[case.name] = str(why)
                except BenchmarkError as error:
                    results.failed[case.name] = str(error)
                    environment.leave()  # the next case starts with new workers
                print(f"{case.name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            return results
        finally:
            environment.close()


def main() -> int:
    """Return the exit code: 1 if a case did not do what it measures."""
    options = read_options()
    if options.list:
        print_list()
        return 0
    baseline = Results.from_json_data(json.loads(options.baseline.read_text())) if options.baseline else None
    results = run(choose_cases(options), options.size)
    print_results(results)
    if options.save:
        options.save.write_text(json.dumps(results.to_json_data(), indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(to_markdown(results))
    if baseline:
        print_changes(compare(results, baseline))
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
