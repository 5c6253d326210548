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
    "opentelemetry.metrics",
    "opentelemetry.sdk.metrics",
    "pydantic_ai",
    "sqlalchemy.dialects.postgresql",
    "tornado",
    "yaml",
}
#: The parser of alignment documents.
PARSER = {"symposia.alignment.document"}
SQL = {"sqlalchemy", "sqlmodel"}
#: What reads a session needs no review, no task and no question.
OTHERS = {"symposia.client.building.inbox", "symposia.reviews.values.runs", "symposia.workspace.placement"}


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


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("list", HEAVY),
        pytest.param("search word", HEAVY, marks=pytest.mark.long),
        pytest.param("review list", HEAVY, marks=pytest.mark.long),
        pytest.param("show {session}", HEAVY | SQL | OTHERS, marks=pytest.mark.long),
        pytest.param("show {session} --json", HEAVY | SQL, marks=pytest.mark.long),
        pytest.param("graph {session}", HEAVY | SQL, marks=pytest.mark.long),
        pytest.param("export {session}", HEAVY | SQL, marks=pytest.mark.long),
        pytest.param("task list --as ann", HEAVY, marks=pytest.mark.long),
        pytest.param("conversation list --as ann", HEAVY, marks=pytest.mark.long),
        pytest.param("schedule list", HEAVY | SQL, marks=pytest.mark.long),
        pytest.param("inbox", HEAVY | SQL, marks=pytest.mark.long),
        pytest.param("memory show user room", HEAVY | SQL, marks=pytest.mark.long),
        pytest.param("tenant acme", HEAVY | SQL, marks=pytest.mark.long),
        pytest.param("--version", HEAVY | SQL | {"pydantic", "redis", "rich"}, marks=pytest.mark.long),
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
