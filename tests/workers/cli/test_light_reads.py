"""Commands that read sessions import neither the queue nor the model libraries."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scaling import patient

CODE = """
import sys
from symposia.workers.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules)
"""
HEAVY = {"alembic", "celery", "flower", "kombu", "mcp", "openai", "pydantic_ai", "tornado"}
#: The parser of alignment documents.
PARSER = {"symposia.models.alignment.document"}
SQL = {"sqlalchemy", "sqlmodel"}


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("list", HEAVY),
        ("search word", HEAVY),
        ("review list", HEAVY),
        ("schedule list", HEAVY | SQL),
        ("inbox", HEAVY | SQL),
        ("tenant acme", HEAVY | SQL),
    ],
)
def test_reading_imports_no_queue(tmp_path, redis_url, command, unused):
    said = subprocess.run(
        [sys.executable, "-c", CODE, *command.split()],
        env={**os.environ, "SYMPOSIA_REDIS_URL": redis_url, "SYMPOSIA_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=patient(30),
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert (unused | PARSER) & set(said.stdout.splitlines()[-1].split()) == set()
