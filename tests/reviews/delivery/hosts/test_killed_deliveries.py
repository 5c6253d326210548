"""A delivery whose worker is killed after any change continues: nothing is missing, nothing is there twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import SUPPORT
from review_tools.pulls import HEAD, NEXT, NUMBER, PATCH, a_reviewed_pull, on_line
from scaling import patient
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.gitlab import GitLab, MergeRequest
from symposia.reviews.values.runs import ReviewRun

FIRST = (on_line(2, "OLD1"), on_line(2, "OLD2"), on_line(4, "STILL"))
SECOND = (*[on_line(3, f"NEW{number}") for number in range(3)], on_line(4, "STILL"), on_line(12, "OUT"))


@pytest.fixture(params=["github", "gitlab"])
def host(request: pytest.FixtureRequest) -> Iterator[GitHub | GitLab]:
    server = GitHub() if request.param == "github" else GitLab()
    server.commits = {HEAD: [], NEXT: [HEAD]}
    if isinstance(server, GitHub):
        server.pulls[NUMBER] = Pull(HEAD, {"app.py": PATCH})
    else:
        server.merge_requests[NUMBER] = MergeRequest(HEAD, {"app.py": PATCH})
    yield server
    server.close()


def write_entry(host: GitHub | GitLab, folder: Path) -> Path:
    kind, field = ("github", "repository") if isinstance(host, GitHub) else ("gitlab", "project")
    file = folder / "deliveries.toml"
    file.write_text(
        f'[host]\nkind = "{kind}"\n{field} = "example/shop"\napi_url = "{host.url}"\n'
        'token_env = "HOST_TOKEN"\nnetworks = ["127.0.0.0/8"]\n'
    )
    return file


def start(deliveries_file: Path, run: ReviewRun) -> subprocess.Popen[bytes]:
    file = deliveries_file.with_name(f"{run.id}.json")
    file.write_text(run.model_dump_json())
    command = [sys.executable, "-m", "review_tools.deliver_once", str(deliveries_file), str(file)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(SUPPORT)})


def deliver_with_kills(host: GitHub | GitLab, deliveries_file: Path, run: ReviewRun) -> int:
    """Deliver a run in processes that are killed before the answer to their first change; return their number."""
    for count in range(1, 30):
        running: list[subprocess.Popen[bytes]] = []
        host.stored = lambda _, running=running: running[0].kill()
        before = host.changes
        with host._lock:  # no request is answered before the process is known
            running.append(start(deliveries_file, run))
        code = running[0].wait(patient(20))
        if code == 0:
            assert host.changes == before
            return count
        assert code == -9
    raise AssertionError("the delivery makes no progress")


def comments(host: GitHub | GitLab) -> list[tuple[str, bool, bool]]:
    """The rule of each comment, whether it says that its finding is gone, and whether it is resolved."""
    if isinstance(host, GitHub):
        found = [(it["comment"]["body"], it["isResolved"]) for it in host.pulls[NUMBER].threads]
    else:
        threads = host.merge_requests[NUMBER].threads
        found = [(it["notes"][0]["body"], it["notes"][0]["resolved"]) for it in threads]
    rules = ("OLD1", "OLD2", "STILL", "NEW0", "NEW1", "NEW2", "OUT")
    return sorted(
        (next(it for it in rules if f" {it}: " in body), "No longer reported" in body, resolved)
        for body, resolved in found
    )


@pytest.mark.long
@pytest.mark.timeout(200)
def test_killed_delivery_continues_without_duplicates(host, tmp_path):
    deliveries_file = write_entry(host, tmp_path)
    assert deliver_with_kills(host, deliveries_file, a_reviewed_pull(*FIRST)) > 2
    assert comments(host) == [(it, False, False) for it in ("OLD1", "OLD2", "STILL")]
    run = a_reviewed_pull(*SECOND)
    assert deliver_with_kills(host, deliveries_file, run) > 4
    assert comments(host) == [
        *((it, False, False) for it in ("NEW0", "NEW1", "NEW2")),
        *((it, True, True) for it in ("OLD1", "OLD2")),
        ("STILL", False, False),
    ]
    pull = host.pulls[NUMBER] if isinstance(host, GitHub) else host.merge_requests[NUMBER]
    summaries = [it["body"] for it in (pull.comments if isinstance(host, GitHub) else pull.notes)]
    assert len(summaries) == 1
    assert run.id in summaries[0]
    assert "app.py:12 OUT" in summaries[0]
