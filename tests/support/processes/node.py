"""Modules of npm packages, run by Node without a browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from programs import NODE_PACKAGES, find_node_file
from scaling import patient

_SCRIPT = """
const module = await import(process.argv[1]);
let text = "";
for await (const chunk of process.stdin) text += chunk;
const answer = (it) => { %s };
console.log(JSON.stringify(JSON.parse(text).map(answer)));
"""


def run_package(name: str, module: str, body: str, cases: list[Any]) -> list[Any]:
    """What the function body `body` returns for each case, `it`.

    `module` is a module of a package that `make node-tools` installs; `name` is what it is required by.
    """
    folder = find_node_file(name, f"{module}.js").parent
    return _run((NODE_PACKAGES / f"{module}.js").as_uri(), body, cases, folder=folder)


def _run(module: str, body: str, cases: list[Any], *, folder: Path) -> list[Any]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    command = [node, "--input-type=module", "-e", _SCRIPT % body, module]
    done = subprocess.run(
        command,
        cwd=folder,
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]
