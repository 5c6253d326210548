"""Run the conversations of one peer, in the interpreter of `.venv/peers`; `harness.peers` starts this program.

It prints `ready` when the conversations have their history, waits for a line, and prints turns and seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module

from work import Prepare, read_work


def main() -> None:
    """Run the conversations that the command line describes."""
    work = read_work()
    library = work.peer.partition("-")[0]
    prepare: Prepare = import_module(f"with_{library}").prepare
    with prepare(work) as run:
        print("ready", flush=True)
        sys.stdin.readline()
        work.begin()
        began = time.perf_counter()
        turns = run()
        seconds = time.perf_counter() - began
        print(json.dumps({"turns": turns, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
