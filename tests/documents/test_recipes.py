"""Recipes: each program of docs/recipes, in a folder with the files of its page, prints what the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from documents.files import write_files
from documents.matching import assert_shown
from documents.pages import PAGES, Page
from documents.programs import run_here, run_program
from live import until
from processes.terminal import Terminal
from servers.model_stub import StubModel, completion
from symposia.config.settings import load_settings

pytestmark = pytest.mark.timeout(120)

RECIPES = {Path(path).stem: Page(path) for path in PAGES if path.startswith("docs/recipes/")}
#: What the model of a page answers.
ANSWERS = {
    "tools": [completion(tool=("price_of", {"article": "lamp"})), completion("A lamp costs 30 euros.")],
    "guard": [completion("Call 555-1234."), completion("Come to the desk.")],
    "chat": [
        completion("Dry hinges rub against each other."),
        completion("Put a drop of oil on each hinge."),
    ],
}
ANSWER = [completion("Dry hinges rub against each other.")]
#: What is typed while a program runs.
TYPED = {"chat": "Why do doors squeak?\nAnd how do I stop it?\n\n"}
#: Recipes whose programs and files need workers; the tests below run them.
ON_WORKERS = {"review", "scale", "schedule"}
#: The agents of a page that has no agents file of its own.
DEFAULT_AGENTS = next(it.text for it in RECIPES["ollama"].blocks if it.title == "agents.toml")
MODEL_URL = "http://localhost:11434/v1"
#: Recipes whose programs are run in one process.
HERE = sorted(RECIPES.keys() - ON_WORKERS)
#: Taken here, so that no block of a recipe is left.
FILES = {
    name: {it.title: it.text for it in page.blocks if it.title and not page.taken.add(it)}
    for name, page in RECIPES.items()
}
PRINTED = {name: page.take("text", "") for name, page in RECIPES.items() if name in [*HERE, "schedule"]}


def program_of(name: str) -> str:
    """The program of a recipe: the last of its Python files."""
    return [it.text for it in RECIPES[name].blocks if it.language == "python"][-1]


@pytest.fixture
def model() -> Iterator[StubModel]:
    with StubModel() as stub:
        yield stub


@pytest.mark.real_models
@pytest.mark.parametrize("name", HERE)
def test_program_prints_what_the_page_shows(
    name: str,
    model: StubModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"agents.toml": DEFAULT_AGENTS} | FILES[name]
    write_files(tmp_path, {file: text.replace(MODEL_URL, model.url) for file, text in files.items()})
    model.answers(*ANSWERS.get(name, ANSWER))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr("sys.stdin", StringIO(TYPED.get(name, "")))
    run_here(program_of(name))
    shown = PRINTED[name]
    for line in TYPED.get(name, "").splitlines():  # no terminal shows what is typed
        shown = shown.replace(f"you: {line}\n" if line else "you:\n", "you: ")
    assert_shown(shown, capsys.readouterr().out)


def test_settings_of_the_recipe_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, FILES["scale"])
    settings = load_settings()
    assert (settings.worker_concurrency, settings.agents_file) == (32, tmp_path / "agents.toml")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return FILES["schedule"]


@pytest.mark.long
def test_schedule_runs(terminal: Terminal) -> None:
    assert_shown(PRINTED["schedule"], run_program(terminal, program_of("schedule")))
    until(lambda: "completed" in terminal.call("schedule", "history", "nightly").out, what="a run")
