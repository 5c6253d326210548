"""The TypeScript client: its types are those of the API, and its tests pass against a real server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from documents.pages import Page
from programs import NODE_PACKAGES, find_node_program, find_program
from scaling import patient
from servers.web import WebServer
from symposia.config.settings import Settings
from symposia.web.app import create_app

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
PAGE = Page("docs/typescript.md")
PROGRAM = PAGE.take("ts", "client.events")
pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


def run(*command: str | Path, **environment: str) -> str:
    """Return the output of a command in the folder of the client, which must succeed."""
    done = subprocess.run(
        command,
        cwd=CLIENT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=patient(120),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_types_are_those_of_the_api(tmp_path):
    """`make client-types` writes them."""
    generate = find_node_program("openapi-typescript")
    document = create_app(Settings(), authenticate=False).openapi()
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    run(generate, tmp_path / "openapi.json", "--output", tmp_path / "schema.ts")
    assert (CLIENT / "src/schema.ts").read_text() == (tmp_path / "schema.ts").read_text()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, its tests and the program of its page in JavaScript."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    tsc = find_node_program("tsc")
    for part in ("src", "test"):
        shutil.copytree(CLIENT / part, source / part)
    for name in ("tsconfig.json", "tsconfig.test.json", "package.json"):
        shutil.copy(CLIENT / name, source)
    program = PROGRAM.replace('"symposia-client"', '"../src/index.js"')
    (source / "test" / "page.ts").write_text(program.replace('"http://127.0.0.1:8765"', "process.argv[2]!"))
    run(
        tsc,
        "--project",
        source / "tsconfig.test.json",
        "--typeRoots",
        NODE_PACKAGES / "@types",
        "--outDir",
        folder,
    )
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def test_client_follows_and_answers_sessions(server, built):
    said = run(
        find_program("node"), "--test", built / "test" / "client.test.js", SYMPOSIA_URL=address(server)
    )
    assert ("# pass 7" in said, "# fail 0" in said) == (True, True), said


def test_program_of_the_page_follows_a_session(server, built):
    said = run(find_program("node"), built / "test" / "page.js", address(server)).splitlines()
    assert said == ["poet: poet speaks in turn 1", "editor: editor speaks in turn 2", "completed"]


def address(server: WebServer) -> str:
    return str(server.http.base_url).removesuffix("/v1/")


def test_package_has_no_dependencies_and_the_version_of_the_server(tmp_path):
    package = json.loads((CLIENT / "package.json").read_text())
    assert "dependencies" not in package
    assert package["version"] == create_app(Settings(), authenticate=False).version
    # What is published compiles without the types of Node.
    run(find_node_program("tsc"), "--project", "tsconfig.json", "--outDir", tmp_path)
    assert (tmp_path / "index.d.ts").is_file()
