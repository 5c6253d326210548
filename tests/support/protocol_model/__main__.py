"""Command line of the model checker: `make model`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from redis import Redis

from symposia.client.embedded import EmbeddedServer
from symposia.state.redis.connect import connect

from .catalogue import SCENARIOS, scenario_named, with_faults
from .defects import DEFECTS, defect_named
from .explorer import Exploration, Explorer
from .scenario import Scenario
from .server import planted


def main() -> int:
    """Explore scenarios, print what was found, and return 1 if a rule is violated."""
    options = _parser().parse_args()
    if options.list:
        scenarios, defects = (f"  {it.name}" for it in SCENARIOS), (f"  {it.name}" for it in DEFECTS)
        _print("\n".join(["Scenarios:", *scenarios, "Defects:", *defects]))
        return 0
    try:
        defect = defect_named(options.defect) if options.defect else None
        names = options.scenarios or ([defect.scenario] if defect else [it.name for it in SCENARIOS])
        chosen = [scenario_named(name) for name in names]
    except ValueError as error:
        _print(f"protocol_model: {error}")
        return 2
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedServer(Path(folder), durable=False, bound=True) as server,
        connect(server.url) as client,
        planted(*defect[1:4]) if defect else nullcontext(),
    ):
        found = [_explore(client, scenario, options.faults) for scenario in chosen]
    return int(any(exploration.rule for exploration in found))


def _explore(client: Redis, scenario: Scenario, faults: int | None) -> Exploration:
    found = Explorer(client, scenario if faults is None else with_faults(scenario, faults)).explore()
    _print(found.render())
    return found


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program for the terminal


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("make model", description="Explore all states of the turn protocol.")
    parser.add_argument("scenarios", nargs="*", help="Names of scenarios (default: all).")
    parser.add_argument(
        "--faults", type=int, help="Maximum number of faults (default: that of the scenario)."
    )
    parser.add_argument("--defect", help="Name of a defect to plant.")
    parser.add_argument("--list", action="store_true", help="List scenarios and defects.")
    return parser


if __name__ == "__main__":
    sys.exit(main())
