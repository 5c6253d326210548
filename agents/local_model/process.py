"""The process that serves the local model; started by `LocalModelServer`, or by hand.

    python -m symposia.agents.local_model.process [WEIGHTS]

Prints its URL on standard output once it listens.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ..programs.process import hide_environment
from .server import CONTEXT_TOKENS, MODEL_NAME, PidFile, PidRecord, default_threads, find_weights

#: Errors only: the engine logs every request at the levels below.
_VERBOSITY = 1


def main() -> None:
    """Serve until a signal arrives or standard input ends."""
    hide_environment()
    options = _options()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    # The name keeps the server alive: it stops with its last reference.
    _server, url = _serve(options.weights or find_weights(), threads=options.threads, slots=options.slots)
    run_file = PidFile(options.run_file) if options.run_file else None
    if run_file is not None:
        run_file.write(PidRecord(url=url, pid=os.getpid()))
    try:
        print(url, flush=True)  # noqa: T201 - the parent reads the URL
        _wait(until_stdin_closes=options.until_stdin_closes)
    finally:
        if run_file is not None:
            run_file.remove(pid=os.getpid())
        # Nothing needs a cleanup here, and the engine's own shutdown sometimes hangs.
        os._exit(0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="symposia.agents.local_model.process", description=__doc__)
    parser.add_argument("weights", nargs="?", type=Path, help="GGUF file (default: the installed one)")
    parser.add_argument("--threads", type=int, default=default_threads(), help="number of CPU threads")
    parser.add_argument("--slots", type=int, default=4, help="number of parallel requests")
    parser.add_argument("--run-file", type=Path, help="file for URL and process id")
    parser.add_argument("--until-stdin-closes", action="store_true", help="exit when standard input closes")
    return parser.parse_args()


def _serve(weights: Path, *, threads: int, slots: int) -> tuple[object, str]:
    xllamacpp = import_module("xllamacpp")  # optional, and without types
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {MODEL_NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT_TOKENS * slots
    params.n_parallel = slots
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = threads
        cpu.poll = 0  # waiting threads sleep: other processes need their core
    #: MiB of the prompt cache; the engine's default is 8,000.
    params.cache_ram_mib = 64
    #: Web pages of other origins must not call the server.
    params.cors_origins = "http://127.0.0.1"
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = _VERBOSITY
    server = xllamacpp.Server(params)
    return server, server.listening_address


def _wait(*, until_stdin_closes: bool) -> None:
    if not until_stdin_closes:
        while True:
            signal.pause()
    while os.read(sys.stdin.fileno(), 1024):
        pass


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


if __name__ == "__main__":
    main()
