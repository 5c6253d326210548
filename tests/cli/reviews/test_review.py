"""`symposia review` on real processes: it starts what is missing, reports, and exits as CI wants it."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from live import until
from processes.terminal import Terminal
from symposia import Client
from symposia.config.settings import load_settings
from symposia.models.sessions.stop_conditions import MaxTurns

WASTEFUL = "import os\n\nprint('hello')\n"
RISKY = "import subprocess\nimport sys\n\nsubprocess.call(sys.argv[1], shell=True)\n"
DEADLINE_S = 58


def found(said) -> set[tuple[str, int, str]]:
    return {(Path(it["path"]).name, it["start_line"], it["rule"]) for it in said.json()["findings"]}


def test_planted_defects_are_found_with_their_lines(worked: Terminal, project):
    said = worked.call("review", str(project))
    assert (said.code, said.err) == (0, "")
    assert "no findings" in said.out
    (project / "risky.py").write_text(RISKY)
    said = worked.call("review", str(project), "--json")
    assert said.code == 1
    assert found(said) == {("risky.py", 4, "B602")}
    clean, risky = said.json()["results"]
    assert (clean["state"], risky["state"]) == ("unchanged", "done")
    assert "Most severe: line 4" in risky["summary"]


@pytest.mark.long
def test_reports_are_written_and_shown_in_all_formats(worked: Terminal, project):
    (project / "wasteful.py").write_text(WASTEFUL)
    out = worked.folder / "out"
    said = worked.call("review", str(project), "--format", "all", "-o", str(out), "--fail-on", "high")
    assert said.code == 0, said
    assert "wasteful.py:1 medium F401" in said.out
    names = {"review.html", "review.jsonl", "review.junit.xml", "review.md", "review.rdjson", "review.sarif"}
    assert {path.name for path in out.iterdir()} == names
    assert json.loads((out / "review.sarif").read_text())["runs"][0]["results"]
    listed = worked.call("review", "list", "--json").json()
    mine = listed[0]
    assert mine["items"] == {"done": 2}
    assert (mine["panel"], mine["state"]) == ("code", "completed")
    shown = worked.call("review", "show", mine["id"][:8], "--format", "markdown")
    assert shown.out == (out / "review.md").read_text()


@pytest.mark.long
def test_baseline_findings_do_not_fail_the_review(worked: Terminal, project):
    (project / "risky.py").write_text(RISKY)
    known = str(project / "known.json")
    assert worked.call("review", str(project), "--write-baseline", known).code == 1
    second = worked.call("review", str(project), "--baseline", known)
    assert (second.code, "no findings" in second.out, "suppressed" in second.out) == (0, True, True), second


@pytest.mark.long
def test_fail_on_sets_the_failing_severity(worked: Terminal, project):
    (project / "wasteful.py").write_text(WASTEFUL)
    codes = {
        it: worked.call("review", str(project), "--fail-on", it).code for it in ("high", "medium", "never")
    }
    assert codes == {"high": 0, "medium": 1, "never": 0}


@pytest.mark.long
def test_only_changed_files_are_reviewed(worked: Terminal, project):
    def git(*arguments: str) -> None:
        command = ["git", "-C", str(project), "-c", "user.name=x", "-c", "user.email=x@localhost", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    (project / "old.py").write_text(RISKY)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "old")
    (project / "new.py").write_text(WASTEFUL)
    said = worked.call("review", str(project), "--since", "HEAD", "--json")
    assert {finding[0] for finding in found(said)} == {"new.py"}


@pytest.mark.long
def test_other_panels_need_no_model(worked: Terminal, project):
    (project / "notes.md").write_text(
        "# Notes\n\nIt is is [here](#nowhere).\n\n[There](gone.md) is `clean_fille`.\n"
    )
    (project / "names.py").write_text("clean_file = 1\n")
    (project / "risky.py").write_text(RISKY)
    said = worked.call("review", str(project), "--panel", "document", "--json")
    assert found(said) == {
        ("notes.md", 3, "doubled-word"),
        ("notes.md", 3, "dead-link"),
        ("notes.md", 5, "dead-link"),
        ("notes.md", 5, "misspelled-name"),
    }
    said = worked.call("review", str(project), "--panel", "pair", "--include", "*.py", "--json")
    assert ("risky.py", 4, "B602") in found(said)


@pytest.mark.long
def test_named_root_is_recognized_at_another_place(worked: Terminal, tmp_path):
    def status(folder: Path, *options: str) -> set[str]:
        said = worked.call("review", str(folder), "--json", *options)
        assert said.json()["findings"], said
        return {it["status"] for it in said.json()["findings"]}

    first, second = tmp_path / "1" / "checkout", tmp_path / "2" / "checkout"
    for folder in (first, second):
        folder.mkdir(parents=True)
        (folder / "risky.py").write_text(RISKY)
    assert status(first, "--root-name", "team/shop") == {"new"}
    assert status(second, "--root-name", "team/shop") == {"still"}
    assert status(second) == {"new"}


@pytest.mark.long
def test_archived_sessions_are_reviewed(worked: Terminal):
    names = ("redis_url", "data_dir")
    settings = {it: worked.environment[f"SYMPOSIA_{it.upper()}"] for it in names}
    client = Client(load_settings(**settings, archive=True))
    collab = {
        "title": "A table",
        "purpose": "Say it.",
        "mode": "round_robin",
        "participants": [{"participant_id": "ann"}, {"participant_id": "bob"}],
        "meta": {"tags": ["mine"]},
    }
    job = client.submit(
        collab, agents={"ann": "echo", "bob": "echo"}, stop=MaxTurns(1), messages=["It is is so."]
    )

    def has_ended() -> bool:
        reader = client.archived()
        if reader is None or not reader.ids(job.id):
            return False
        return reader.session(job.id).fields["status"] == "completed"

    until(has_ended, timeout_s=30, what="it is archived")
    client.archive.close()
    client._installation.sessions.connections.redis.close()
    said = worked.call("review", "sessions", "--tag", "mine", "--json")
    assert {(it["path"], it["rule"]) for it in said.json()["findings"]} == {
        (f"session:{job.id}", "doubled-word")
    }
    assert said.code == 1
    again = worked.call("review", "sessions", job.id, "--fail-on", "never")
    assert (again.code, "of archived sessions" in again.out) == (0, True), again
    assert worked.call("review", "sessions", "0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11").code == 3


@pytest.mark.long
@pytest.mark.timeout(150)
def test_running_review_shows_progress_and_may_be_interrupted(worked: Terminal, project):
    for number in range(60):
        (project / f"risky{number:03}.py").write_text(RISKY)
    running = worked.start("review", str(project), "--parallel", "1", "--json")

    def reviewed() -> int:
        newest = worked.call("review", "list", "--limit", "1", "--json").json()
        return newest[0]["items"].get("done", 0) if newest and newest[0]["state"] == "running" else 0

    until(lambda: reviewed() > 2, timeout_s=70, what="some files are reviewed")
    (newest,) = worked.call("review", "list", "--limit", "1", "--json").json()
    shown = worked.call("review", "show", newest["id"])
    assert re.search(r"\d+ of 61, about .+ left, 1 running", shown.err), shown
    progress = worked.call("review", "show", newest["id"], "--json").json()["progress"]
    assert (progress["total"], progress["state"], progress["rest_s"] > 0) == (61, "running", True)
    said = running.interrupt().ended(timeout_s=50)
    assert said.code == 1, said
    assert "Interrupted: waiting for running items, then reporting the findings so far." in said.err
    run = said.json()
    states = Counter(it["state"] for it in run["results"])
    assert run["state"] == "cancelled"
    assert (set(states), states.total()) == ({"done", "cancelled"}, 61)
    done = {it["item"]["path"] for it in run["results"] if it["state"] == "done"}
    found = {it["path"] for it in run["findings"]}
    assert {it for it in done if "risky" in it} <= found
    assert len(found - done) <= 1, "of the one that was under way, what was said by then"


@pytest.mark.long
@pytest.mark.timeout(150)
def test_review_starts_and_stops_what_it_needs(bare: Terminal):
    (bare.folder / "risky.py").write_text(RISKY)
    said = bare.run("review", timeout_s=DEADLINE_S, as_installed=True)
    assert said.code == 1, said
    assert said.err == "No worker is running; starting one for this run.\n"
    assert "risky.py:4 high B602" in said.out
    bare.wait_until_nothing_runs()


@pytest.mark.long
@pytest.mark.timeout(150)
def test_worker_runs_no_code_of_the_reviewed_folder(bare: Terminal):
    trap = bare.folder / "ran"
    agents = f'[agents.ruff]\nkind = "command"\nargv = ["touch", "{trap}"]\n'
    (bare.folder / "agents.toml").write_text(agents)
    for name in ("celery", "json", "bandit", "models"):
        (bare.folder / f"{name}.py").write_text(f"import pathlib\npathlib.Path({str(trap)!r}).touch()\n")
    said = bare.run("review", "--fail-on", "never", timeout_s=140)
    assert said.code == 0, said
    assert not trap.exists()
    bare.wait_until_nothing_runs()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "path: must be an existing file or folder (got 'nowhere')"),
        (["--root-name", ""], "root_name: must be 1 to 100 printable characters"),
        (["--panel", "cod"], "panel: must be a panel: code"),
        (["--since", "v1"], "since: requires a folder in a git repository"),
        (["--baseline", "nowhere"], "baseline: cannot be read"),
        (["--baseline", "known.json", "--deliver", "x"], "baseline: cannot be combined with --deliver"),
        (["--write-baseline", "nowhere/x.json"], "write_baseline: must be in a folder: "),
        (["--output", "/dev/null"], "output: must be a folder"),
        (["--output", "/dev/null/x"], "output: must be in a folder: /dev/null is not one"),
        (["--json", "--format", "sarif"], "format: must be written to a folder with --json"),
        (["--format", "html", "--format", "sarif"], "output: requires a folder for several reports"),
        (["--deliver", "../x"], "deliver[0]: "),
        (["--model", "nobody"], "panel code: must be a registered agent"),
        (["--config", "nowhere"], "config: cannot be read"),
        (["--branch", " "], "branch: must be 1 to 200 printable characters"),
    ],
)
def test_bad_review_input_is_one_line(worked: Terminal, arguments, said):
    ended = worked.call("review", *arguments)
    assert ended.code == 2, ended
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_unknown_review_is_reported(terminal: Terminal):
    ended = terminal.call("review", "show", "0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11")
    assert ended.code == 3
    assert "not found" in ended.err
