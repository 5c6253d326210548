"""Commands that read sessions import neither the queue nor the model libraries."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scaling import patient
from symposia.client import Client
from symposia.config.settings import load_settings

COLLAB = {
    "title": "Reads",
    "purpose": "Talk.",
    "mode": "pair",
    "participants": [{"participant_id": it} for it in "ab"],
}
CODE = """
import sys
from symposia.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules)
"""
#: What no command that reads may import: the queue, models of agents, web pages, and what changes the archive.
HEAVY = {
    "alembic",
    "celery",
    "flower",
    "jinja2",
    "kombu",
    "markdown_it",
    "mcp",
    "openai",
    "opentelemetry.sdk.metrics",
    "pydantic_ai",
    "sqlalchemy.dialects.postgresql",
    "tornado",
    "yaml",
}
#: The parser of alignment documents.
PARSER = {"symposia.alignment.document"}
SQL = {"sqlalchemy", "sqlmodel"}


@pytest.fixture
def ended_session(redis_url, tmp_path):
    """The id of a session that was cancelled and is not archived. There is an archive."""
    options = {"redis_url": redis_url, "data_dir": tmp_path}
    with Client(load_settings(**options, archive=True)) as client:
        client.conversations.task_list("ann")
    with Client(load_settings(**options, archive=False)) as client:
        job = client.submit(COLLAB, agents={"a": "human", "b": "human"})
        job.cancel()
        return job.id


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("list", HEAVY),
        ("search word", HEAVY),
        ("review list", HEAVY),
        ("show {session}", HEAVY | SQL),
        ("show {session} --json", HEAVY | SQL),
        ("graph {session}", HEAVY | SQL),
        ("export {session}", HEAVY | SQL),
        ("task list --as ann", HEAVY),
        ("conversation list --as ann", HEAVY),
        ("schedule list", HEAVY | SQL),
        ("inbox", HEAVY | SQL),
        ("memory show user room", HEAVY | SQL),
        ("tenant acme", HEAVY | SQL),
        ("--version", HEAVY | SQL | {"pydantic", "redis", "rich"}),
    ],
)
def test_reading_imports_no_queue(tmp_path, redis_url, ended_session, command, unused):
    said = subprocess.run(
        [sys.executable, "-c", CODE, *command.format(session=ended_session).split()],
        env={
            **os.environ,
            "SYMPOSIA_REDIS_URL": redis_url,
            "SYMPOSIA_DATA_DIR": str(tmp_path),
            "SYMPOSIA_ARCHIVE": "true",
        },
        capture_output=True,
        text=True,
        timeout=patient(30),
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert (unused | PARSER) & set(said.stdout.splitlines()[-1].split()) == set()
