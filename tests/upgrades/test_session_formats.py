"""Each field of a specification that release 0.1.0 refuses raises the format of its session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from symposia.state.redis.formats import _NEW_IN_2, session_format
from upgrades.releases import wheel_of
from upgrades.versions import unpack

#: Prints the fields of each class of a specification.
PROGRAM = """
import json
from symposia.models.sessions.spec import SessionSpec
schema = SessionSpec.model_json_schema()
classes = {"SessionSpec": schema, **schema["$defs"]}
print(json.dumps({name: list(it.get("properties", {})) for name, it in classes.items()}))
"""


def fields_of(code: Path | None) -> dict[str, list[str]]:
    environment = dict(os.environ) if code is None else {**os.environ, "PYTHONPATH": str(code)}
    command = [sys.executable, "-c", PROGRAM]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)


def test_every_field_that_0_1_0_refuses_is_known(tmp_path: Path) -> None:
    before, now = fields_of(unpack(wheel_of("0.1.0"), tmp_path / "code")), fields_of(None)
    added = {name for kind, fields in before.items() for name in set(now[kind]) - set(fields)}
    assert added == {path.rpartition(".")[2] for path in _NEW_IN_2} | {"escalate_after_s"}


def test_each_newer_field_counts_only_in_its_place() -> None:
    for path in _NEW_IN_2:
        spec: object = 1
        for name in reversed(path.split(".")):
            spec = {"ann" if name == "*" else name: spec}
        assert session_format(json.dumps(spec)) == 2
        assert session_format(json.dumps({"parameters": spec})) == 1
