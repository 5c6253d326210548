"""The examples run as they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from processes.terminal import Terminal
from scaling import patient
from symposia.agents.registry.registry import Registry
from symposia.config.settings import load_settings
from symposia.jobs.session_file import SessionFile
from symposia.models.protocol.collab import CollabMode
from symposia.reviews.delivery.destinations import Destinations
from symposia.tasks.sessions.opening import prepare

EXAMPLES = Path(__file__).parents[2] / "examples"
INPUTS = EXAMPLES / "inputs.yaml"
FILES = sorted(set(EXAMPLES.glob("*.yaml")) - {INPUTS})
#: What is wrong in `examples/review`, by file, line and rule.
#: Without settings of its own, a project gets findings of bandit from medium severity on.
PLANTED = {
    *(("inventory.py", line, "F401") for line in (3, 4)),
    ("inventory.py", 11, "B307"),
    ("inventory.py", 12, "E722"),
    ("inventory.py", 17, "F841"),
    ("inventory.py", 22, "F541"),
    ("inventory.py", 26, "B602"),
    ("inventory.py", 30, "F821"),
    ("payments.py", 12, "B324"),
    ("payments.py", 17, "B608"),
    ("payments.py", 22, "B301"),
}
WITHOUT_A_MODEL = {
    "orchestrated": ("satisfied", 6),
    "pair": ("approved", 4),
    "swarm": ("board_empty", 4),
}


def test_each_mode_has_an_example():
    assert {path.stem for path in FILES} == set(CollabMode)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_example_is_of_its_mode(path):
    submission = SessionFile.open(str(path)).submission()
    prepared = prepare(submission, known_agents=frozenset(Registry().names()), max_message_bytes=10_000)
    assert prepared.collab.mode == path.stem
    assert f"symposia run examples/{path.name}" in path.read_text()


def test_example_with_inputs_is_filled():
    source = SessionFile.open(str(INPUTS))
    submission = source.submission({"topic": "doors"})
    prepare(submission, known_agents=frozenset(Registry().names()), max_message_bytes=10_000)
    assert submission.collab.purpose == "Write a plain poem of 3 lines about doors."
    assert submission.agents["poet"].parameters == {"replies": ["A plain line about doors."]}
    assert f"symposia run examples/{INPUTS.name} --set topic=doors" in INPUTS.read_text()


@pytest.mark.parametrize("mode", WITHOUT_A_MODEL)
@pytest.mark.long
def test_examples_without_a_model_run_anywhere(busy: Terminal, mode):
    ended = busy.call("run", str(EXAMPLES / f"{mode}.yaml"), "--json").json()
    assert (ended["reason"], ended["turns"]) == WITHOUT_A_MODEL[mode]


@pytest.mark.long
def test_python_example_runs(busy: Terminal):
    said = subprocess.run(
        [sys.executable, EXAMPLES / "review.py"],
        env=busy.environment,
        cwd=busy.folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=patient(40),
    )
    assert said.stdout.splitlines() == [
        *("coder: return a - b", "reviewer: That subtracts."),
        *("coder: return a + b", "reviewer: APPROVED: it adds."),
        "completed: approved (it adds.) after 4 turns",
    ]


@pytest.mark.long
def test_example_with_a_person_runs(busy: Terminal):
    said = subprocess.run(
        [sys.executable, EXAMPLES / "editor.py"],
        env=busy.environment,
        cwd=busy.folder,
        input="Shorter, please.\nAPPROVED: good\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=patient(50),
    )
    assert "Books, and more." in said.stdout
    assert said.stdout.splitlines()[-1].endswith("completed: approved (good) after 4 turns")


@pytest.mark.long
def test_planted_findings_are_found_on_their_lines(busy: Terminal):
    said = busy.call("review", str(EXAMPLES / "review"), "--json")
    run = said.json()
    assert said.code == 1
    assert {(it["path"], it["start_line"], it["rule"]) for it in run["findings"]} == PLANTED
    assert {it["item"]["path"]: it["state"] for it in run["results"]} == dict.fromkeys(
        ("inventory.py", "payments.py", "prices.py"), "done"
    )


def test_example_deliveries_file_is_valid():
    deliveries = Destinations.load(
        EXAMPLES / "deliveries.toml", getenv=lambda name: None if name == "SMTP_PASSWORD" else "s"
    )
    assert deliveries.names() == ["board", "chat", "merges", "pulls", "shelf", "team"]
    assert list(deliveries.problems()) == ["[team]: environment variable SMTP_PASSWORD is not set"]


def test_example_agents_file_is_valid(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    settings = load_settings(agents_file=EXAMPLES / "agents.toml")
    registry = Registry.load(settings.agents_file, getenv={"HOUSE_KEY": "k"}.get)
    assert set(registry.names()) >= {"coder", "storyteller", "word-counter", "reviewer"}
    assert registry.check() == []
