"""Every console line of the documentation is typed by a test, or has a reason and a check of its words."""

from __future__ import annotations

import ast
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.lines import PAGES, ROOT, Line, read_lines
from documents.not_run import NOT_RUN, check_words, find_not_run
from scaling import patient

FOLDER = Path(__file__).parent
#: Followed from top to bottom, with its files, by `tests/cli/test_tutorial.py`.
TUTORIAL = "tutorial.md"
LINES = [line for path in PAGES if path.name != TUTORIAL for line in read_lines(path)]


def followed() -> Iterator[tuple[str, str]]:
    """Pages and sections that tests follow; '*' for all sections."""
    for path in set(FOLDER.glob("test_*.py")) - {FOLDER / "test_walk.py"}:
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "follow"
            ):
                page, *sections = [ast.literal_eval(it) for it in node.args]
                yield from ((page, section) for section in sections or ["*"])


def is_followed(line: Line, known: set[tuple[str, str]]) -> bool:
    return not {(line.page, line.section), (line.page, "*")}.isdisjoint(known)


def test_every_line_is_typed_or_has_a_reason() -> None:
    known = set(followed())
    assert [it for it in LINES if not find_not_run(it) and not is_followed(it, known)] == []


def test_line_of_another_section_is_found() -> None:
    known = set(followed())
    assert is_followed(Line("people.md", "Replies", "symposia inbox", ""), known)
    assert not is_followed(Line("people.md", "Deadlines", "symposia inbox", ""), known)


def test_lines_that_are_not_typed_name_what_exists() -> None:
    for line in LINES:
        check_words(line)


def test_every_reason_is_needed() -> None:
    reasons = {id(find_not_run(line)) for line in LINES}
    assert [it.reason for it in NOT_RUN.values() if id(it) not in reasons] == []


@pytest.mark.long
def test_arguments_of_benchmarks_exist() -> None:
    lines = {line.text for line in LINES if line.text.startswith("make bench") and "ARGS" in line.text}
    for line in sorted(lines):
        arguments = shlex.split(shlex.split(line)[2].removeprefix("ARGS="))
        command = [sys.executable, ROOT / "benchmarks/run.py", *arguments, "--list"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patient(60))
        assert done.returncode == 0, done
    assert len(lines) > 5


@pytest.mark.parametrize(
    "text",
    [
        "systemctl restart symposia-workr",
        "systemctl resart symposia-worker",
        "make demos",
        "pip install 'symposia[worker,archives]'",
        "kubectl --namespace symposia rollout status deployment/symposia-workers",
        "kubectl apply --kustomize deploy/kubernets",
        "docker compose up --scale wrker=2",
        "useradd --system --home-dir /var/lib/symposias symposia",
    ],
)
def test_wrong_words_are_found(text: str) -> None:
    with pytest.raises(AssertionError):
        check_words(Line("page.md", "A section", text, ""))
