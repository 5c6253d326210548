"""`pip install symposia` is small, runs sessions, and names the extra of what it lacks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from distributions import ROOT, build_wheel, copy_sources, install
from live import until
from scaling import patient
from symposia.models.errors import MissingPackage
from symposia.models.extras import EXTRAS, Needed, check_installed
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect

#: Limits of an installation without extras, Symposia included.
MAX_PACKAGES, MAX_MEGABYTES = 25, 60
#: Limit of the modules that `import symposia` loads, by which everything else is loaded on use: without `asyncio`, for example.
MAX_IMPORTED = 40

TALK = """
import sys
from symposia import {entry}

def ada(turn):
    return "The Lantern Room?" if turn.turn_number == 1 else "AGREED."

def ben(turn):
    return "It has a lamp in every window."

collab = {{"title": "A name", "purpose": "Find a name.", "mode": "round_robin",
          "participants": [{{"participant_id": it}} for it in ("ada", "ben")]}}
"""
LOCAL = TALK.format(entry="run_local_sync") + (
    "result = run_local_sync(collab, agents={'ada': ada, 'ben': ben}, stop={'max_turns': 3})\n"
    "print(*(it.content for it in result.dialog.messages), sep='|')\n"
)
QUEUED = TALK.format(entry="Client") + (
    "echo = {'agent': 'echo', 'parameters': {'replies': ['Yes.']}}\n"
    "job = Client().submit(collab, agents={'ada': echo, 'ben': echo}, stop={'max_turns': 3})\n"
    "print(*(it.content for it in job.messages(follow=True)), job.result(timeout=60).reason, sep='|')\n"
    "assert Client().get_job(job.id).result().turns == 3\n"
)
MODELS = TALK.format(entry="run_local_sync") + (
    "result = run_local_sync(collab, agents={'ada': 'local', 'ben': ben}, stop={'max_turns': 3})\n"
    "sys.exit(result.detail)\n"
)
SCHEMA = "from symposia.models.outputs import read_schema; read_schema({'type': 'object'})"
ARCHIVE = "import symposia; symposia.Client().archived()"
COMMAND = "from symposia.cli import main; main(['doctor'])"
TESTING = "from symposia.testing import ScriptedModel"
BEAT = "import symposia.workers.beat.beat"


@dataclass(frozen=True)
class CoreInstall:
    """An environment with the wheel and its dependencies, and nothing else."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def environment(self, **settings: str) -> dict[str, str]:
        own = {f"SYMPOSIA_{name.upper()}": value for name, value in settings.items()}
        data = {"SYMPOSIA_DATA_DIR": str(self.folder / "data")}
        return {**os.environ, **data, **own, "PYTHONPATH": ""}

    def run(self, code: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.python, "-c", code],
            env=self.environment(**settings),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=patient(60),
            check=False,
        )


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> CoreInstall:
    """Installs the wheel, built from a copy, by pip into a new environment."""
    source, folder = tmp_path_factory.mktemp("source") / "symposia", tmp_path_factory.mktemp("core")
    built = build_wheel(copy_sources(source), folder)
    install(str(built), python=Path(sys.executable), folder=folder)
    return CoreInstall(folder)


def roles() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project["optional-dependencies"]


@pytest.mark.parametrize(("package", "extra"), sorted(set(EXTRAS.values())))
def test_reported_extra_installs_the_package(package: str, extra: str) -> None:
    given = [*roles().get(extra, [])] or pytest.fail(f"no extra {extra}")
    names = {re.split(r"[\[<>=]", it)[0] for it in given}
    assert package in names


def test_all_names_every_role_but_the_local_model() -> None:
    [everything] = roles()["all"]
    named = set(everything.partition("[")[2].rstrip("]").split(","))
    # The local model is of no use without its weights, which need a second command.
    assert named == roles().keys() - {"all", "check", "local", "test"}


def test_missing_package_is_one_line() -> None:
    with pytest.raises(MissingPackage) as refused, Needed("the archive"):
        raise ModuleNotFoundError("No module named 'sqlmodel.main'", name="sqlmodel.main")
    assert str(refused.value) == "the archive needs the package sqlmodel: pip install 'symposia[archive]'"


def test_other_missing_modules_stay_as_they_are() -> None:
    with pytest.raises(ModuleNotFoundError, match="my_agents"), Needed("the archive"):
        raise ModuleNotFoundError("No module named 'my_agents'", name="my_agents")


def test_installed_package_passes_the_check() -> None:
    check_installed("flower", "Flower")


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from symposia.archive.archive import Archive
    from symposia.workspace.sql.store import deliver_to_conversation

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPackage, match=r"psycopg: pip install 'symposia\[postgres\]'"):
        Archive("postgresql://127.0.0.1:1/none", deliver_to_conversation).open_reader()


@pytest.mark.long
@pytest.mark.timeout(300)
class TestCore:
    def test_installation_is_small(self, core: CoreInstall) -> None:
        [packages] = core.folder.glob("lib/python*/site-packages")
        names = [it.name for it in packages.glob("*.dist-info")]
        size = sum(it.stat().st_size for it in packages.rglob("*") if it.is_file())
        assert len(names) <= MAX_PACKAGES, names
        assert size < MAX_MEGABYTES * 1_000_000

    def test_session_runs_in_one_process(self, core: CoreInstall) -> None:
        done = core.run(LOCAL)
        assert done.stdout == "The Lantern Room?|It has a lamp in every window.|AGREED.\n", done.stderr

    def test_client_submits_and_follows(self, core: CoreInstall, worker: str) -> None:
        done = core.run(QUEUED, redis_url=worker)
        assert done.stdout == "Yes.|Yes.|Yes.|max_turns\n", done.stderr

    @pytest.mark.parametrize(
        ("code", "needs"),
        [
            (MODELS, "pydantic-ai-slim: pip install 'symposia[worker]'"),
            (SCHEMA, "jsonschema: pip install 'symposia[worker]'"),
            (ARCHIVE, "sqlalchemy: pip install 'symposia[archive]'"),
            (COMMAND, "typer: pip install 'symposia[cli]'"),
            (BEAT, "celery-redbeat: pip install 'symposia[worker]'"),
            (TESTING, "pydantic-ai-slim: pip install 'symposia[worker]'"),
        ],
        ids=["models", "schema", "archive", "command", "beat", "testing"],
    )
    def test_missing_extra_is_named(self, core: CoreInstall, redis_url: str, code: str, needs: str) -> None:
        done = core.run(code, redis_url=redis_url, archive="true")
        assert done.returncode != 0
        assert f" needs the package {needs}" in done.stderr

    def test_import_loads_few_modules(self, core: CoreInstall) -> None:
        code = "import sys; before = {*sys.modules}; import symposia; print(*{*sys.modules} - before)"
        loaded = core.run(code).stdout.split()
        assert len(loaded) < MAX_IMPORTED
        assert [it for it in loaded if it.partition(".")[0] not in sys.stdlib_module_names] == ["symposia"]

    def test_importing_a_client_imports_no_extra(self, core: CoreInstall) -> None:
        done = core.run("import symposia, sys, json; symposia.Client; print(json.dumps(list(sys.modules)))")
        tops = {it.partition(".")[0] for it in json.loads(done.stdout)}
        assert tops.isdisjoint(EXTRAS)


@pytest.fixture
def worker(core: CoreInstall, redis_url: str) -> Iterator[str]:
    """The URL of a server with a worker, which has no extra either."""
    command = [core.python, "-m", "symposia.workers", "worker", "--loglevel", "WARNING"]
    process = subprocess.Popen(
        command, env=core.environment(redis_url=redis_url, archive="false"), cwd=core.folder
    )
    try:
        with connect(redis_url) as client:
            until(WorkerPresence(client).list_alive, timeout_s=40, what="the worker is ready")
            yield redis_url
            process.terminate()
            process.wait(patient(20))
    finally:
        process.kill()
        process.wait()
