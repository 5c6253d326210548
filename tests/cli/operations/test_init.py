"""`symposia init` writes files that run, and `symposia examples` copies what is in the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from live import until
from processes.terminal import Terminal
from scaling import patient
from symposia.cli.operations.examples import (
    EXAMPLES,
    FOLDER,
    STARTER,
    copy_example,
    copy_starter,
    find_example,
)
from symposia.models.errors import InvalidInput

WRITTEN = ["agents.toml", "answer.py", "first.py", "my_agents.py", "session.yaml"]
SAID = [
    "ada: The Lantern Room?",
    "ben: The Lantern Room? It has a lamp in every window.",
    "ada: AGREED.",
]


def test_init_says_what_it_wrote_and_what_to_type(bare: Terminal):
    said = bare.call("init", "fresh")
    assert [line for line in said.out.splitlines() if line.startswith("wrote ")] == [
        f"wrote fresh/{name}" for name in WRITTEN
    ]
    assert said.out.splitlines()[-3:] == [
        "  cd fresh && python first.py",
        "  symposia up",
        "  symposia run session.yaml   # in another terminal",
    ]


def test_init_overwrites_only_with_force(tmp_path: Path):
    (tmp_path / "agents.toml").write_text("mine")
    with pytest.raises(InvalidInput, match=r"agents\.toml.*--force|--force.*agents\.toml"):
        copy_starter(tmp_path, force=False)
    assert [it.name for it in tmp_path.iterdir()] == ["agents.toml"]
    copy_starter(tmp_path, force=True)
    assert sorted(it.name for it in tmp_path.iterdir()) == WRITTEN
    assert (tmp_path / "agents.toml").read_text() != "mine"


def test_init_with_force_follows_no_link(tmp_path: Path):
    shared, folder = tmp_path / "shared.toml", tmp_path / "project"
    shared.write_text("mine")
    folder.mkdir()
    (folder / "agents.toml").symlink_to(shared)
    (folder / "session.yaml").symlink_to(tmp_path / "missing")
    copy_starter(folder, force=True)
    assert shared.read_text() == "mine"
    assert not (tmp_path / "missing").exists()
    assert not any(it.is_symlink() for it in folder.iterdir())


@pytest.mark.parametrize(
    ("folder", "prepare", "rule"),
    [
        ("file", lambda path: path.touch(), ""),
        ("x" * 300, lambda _: None, "File name too long"),
        ("there", lambda path: path.mkdir() or os.mkfifo(path / "agents.toml"), ".* is a named pipe"),
    ],
    ids=["file", "long name", "pipe"],
)
def test_init_reports_what_it_cannot_write(tmp_path: Path, folder: str, prepare, rule: str):
    prepare(tmp_path / folder)
    with pytest.raises(InvalidInput, match=f"folder: must be writable: {rule}"):
        copy_starter(tmp_path / folder, force=True)


def test_first_program_needs_nothing_else(tmp_path: Path):
    copy_starter(tmp_path, force=False)
    done = subprocess.run(
        [sys.executable, "first.py"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=patient(30),
    )
    assert done.stdout.splitlines() == SAID


def test_readme_shows_what_the_first_program_prints():
    readme = (FOLDER.parent / "README.md").read_text()
    assert "\n".join(["$ cd my-project && python first.py", *SAID, "```"]) in readme


@pytest.mark.long
@pytest.mark.timeout(180)
def test_written_session_runs_with_written_agents(bare: Terminal):
    copy_starter(bare.folder, force=False)
    up = bare.start("up", "--no-flower", "--no-beat", "--no-local-model").until("ready.", timeout_s=60)
    session = bare.start("run", "session.yaml", "--set", "place=garden")
    session.until("7 words so far.", timeout_s=60)
    (question,) = until(lambda: bare.call("inbox", "--json").json(), what="a question")
    bare.call("reply", question["session_id"], "you", "Thanks.")
    assert session.ended(timeout_s=60).code == 0
    assert "Please close the door of the garden. (Thanks.)" in session.out
    up.interrupt().ended()


def test_examples_lists_one_line_for_each(bare: Terminal):
    *lines, blank, last = bare.call("examples").out.splitlines()
    assert [line.split()[0] for line in lines] == [it.name for it in EXAMPLES]
    assert max(map(len, lines)) <= 80
    assert (blank, last) == ("", "Copy one: symposia examples NAME")


def test_every_file_of_the_examples_belongs_to_one():
    named = {name for it in EXAMPLES for name in it.files}
    there = {path.name for path in FOLDER.iterdir() if not path.name.startswith("__")}
    assert named == there - {STARTER}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda it: it.name)
def test_example_is_copied_with_all_its_files(example, tmp_path: Path):
    written = copy_example(example, tmp_path / "new", force=False)
    assert written
    assert all(
        path.read_bytes() == (FOLDER / path.relative_to(tmp_path / "new")).read_bytes() for path in written
    )
    with pytest.raises(InvalidInput, match="--force"):
        copy_example(example, tmp_path / "new", force=False)


def test_copied_programs_can_be_executed(tmp_path: Path):
    copy_example(find_example("eval"), tmp_path, force=False)
    given = '{"answer": "Close the door."}'
    done = subprocess.run(
        [tmp_path / "eval" / "few_words.py"], input=given, capture_output=True, text=True, check=True
    )
    assert '"score": 0.85' in done.stdout


def test_example_that_needs_services_shows_their_command_first(bare: Terminal):
    shown = bare.call("examples", "trip", "mine").out.splitlines()[-2:]
    assert shown == ["  symposia up   # in another terminal", "  python mine/trip.py"]


def test_agents_of_the_example_import_their_module(bare: Terminal):
    shown = bare.call("examples", "agents", "mine").out.splitlines()[-1]
    path, agents_file, command = shown.split(maxsplit=2)
    assert (path, command) == ("PYTHONPATH=mine/", "symposia up")
    bare.path.append(bare.folder / "mine")
    bare.settings["agents_file"] = agents_file.partition("=")[2]
    problems = [it["text"] for it in bare.run("doctor", "--json").json()["findings"] if it["grade"] != "ok"]
    assert not any("word_counter" in it for it in problems), problems


def test_unknown_example_is_refused_with_the_names():
    with pytest.raises(InvalidInput, match=r"must be one of round_robin, .*\(got 'pairs'\)"):
        find_example("pairs")


@pytest.mark.long
def test_copied_example_runs_with_the_shown_command(busy: Terminal):
    shown = busy.call("examples", "pair", "mine").out.splitlines()[-1]
    assert shown == "  symposia run mine/pair.yaml"
    assert busy.call("run", "mine/pair.yaml", "--json").json()["reason"] == "approved"
