"""The TypeScript client: its types are those of the API, and its tests pass against a real server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from programs import NODE_PACKAGES, find_node_program, find_program
from scaling import patient
from symposia.config.settings import Settings
from symposia.web.app import create_app

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
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


def test_client_follows_and_answers_sessions(server, tmp_path):
    tsc, node = find_node_program("tsc"), find_program("node")
    project = ("--project", "tsconfig.test.json", "--typeRoots", NODE_PACKAGES / "@types")
    run(tsc, *project, "--outDir", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    url = str(server.http.base_url).removesuffix("/v1/")
    said = run(node, "--test", tmp_path / "test", SYMPOSIA_URL=url)
    assert "# fail 0" in said
    assert "# pass 7" in said


def test_package_has_no_dependencies_and_the_version_of_the_server(tmp_path):
    package = json.loads((CLIENT / "package.json").read_text())
    assert "dependencies" not in package
    assert package["version"] == create_app(Settings(), authenticate=False).version
    # What is published compiles without the types of Node.
    run(find_node_program("tsc"), "--project", "tsconfig.json", "--outDir", tmp_path)
    assert (tmp_path / "index.d.ts").is_file()
