"""`symposia init` and `symposia examples`: copies of the files to start from, which are part of the package."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..common.options import AsJson
from ..common.screen import print_document, print_json

Folder = Annotated[Path, typer.Argument(help="Target folder; created if needed.", show_default="this folder")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]

#: Folder of the examples, in the checkout and in the wheel.
FOLDER = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True, slots=True)
class Example:
    """An example: files that are copied together.

    Attributes:
        name: Its name for the command line.
        summary: What it shows, on one line.
        files: Paths in the folder of the examples, also folders; the copies have the same paths in the target.
        start: The command that runs it, in the folder of the copy.
        needs_services: Whether `symposia up` must run; the other commands start what they need.
    """

    name: str
    summary: str
    files: tuple[str, ...]
    start: str
    needs_services: bool = False


#: The files of `symposia init`, which are copied without their folder.
STARTER = "starter"


def _session(name: str, summary: str, *, options: str = "") -> Example:
    return Example(name, summary, (f"{name}.yaml",), f"symposia run examples/{name}.yaml{options}")


def _program(name: str, summary: str, file: str) -> Example:
    return Example(name, summary, (file,), f"python examples/{file}", needs_services=True)


EXAMPLES = (
    _session("round_robin", "three participants in order; local model"),
    _session("orchestrated", "an orchestrator names the next participants"),
    _session("pair", "a driver and a navigator alternate"),
    _session("broadcast", "one question to all at the same time; local model"),
    _session("swarm", "participants take items from a board"),
    _session("inputs", "a session file with inputs", options=" --set topic=doors"),
    Example(
        "agents",
        "an agents file with models, a tool and a Python agent",
        ("agents.toml", "word_counter.py"),
        "PYTHONPATH=examples/ SYMPOSIA_AGENTS_FILE=examples/agents.toml symposia up",
    ),
    Example(
        "deliveries",
        "destinations for reports of reviews",
        ("deliveries.toml",),
        "SYMPOSIA_DELIVERIES_FILE=examples/deliveries.toml symposia doctor",
    ),
    _program("program", "a pair session from Python", "review.py"),
    _program("editor", "a person reviews what an agent writes, from Python", "editor.py"),
    _program("trip", "dialog memory: a request that refers to an earlier one", "trip.py"),
    Example(
        "notebook",
        "sessions in a notebook",
        ("notebook.ipynb",),
        "jupyter lab examples/notebook.ipynb   # needs: pip install jupyterlab",
    ),
    Example(
        "dialogue",
        "an alignment document of two decisions",
        ("decision.dialogue.md",),
        "symposia lint examples/decision.dialogue.md",
    ),
    Example(
        "review",
        "code with planted defects, for a batch review",
        ("review",),
        "symposia review examples/review",
    ),
    Example(
        "eval",
        "an evaluation of a session: cases, variants, a judge",
        ("eval",),
        "symposia eval examples/eval/cases.yaml",
    ),
    Example(
        "review_eval",
        "a dataset that scores panels of reviewers",
        ("review_eval",),
        "symposia review eval examples/review_eval/dataset.toml",
    ),
    Example(
        "review_eval_changes",
        "a dataset of changes for panels",
        ("review_eval_changes",),
        "symposia review eval examples/review_eval_changes/dataset.toml",
    ),
    Example(
        "review_eval_documents",
        "a dataset of documents with flaws",
        ("review_eval_documents",),
        "symposia review eval examples/review_eval_documents/dataset.toml --panel document",
    ),
    Example(
        "review_eval_commits",
        "a dataset of public commits, to fetch",
        ("review_eval_commits",),
        "python examples/review_eval_commits/fetch.py examples/review_eval_commits/commits.toml commits",
    ),
    Example(
        "celery_app",
        "a Celery application with a session between its tasks",
        ("celery_app",),
        "cd examples/celery_app && pytest   # needs: pip install -r requirements.txt",
    ),
    Example(
        "django_app",
        "a Django project with a view, a live page and tests",
        ("django_app",),
        "cd examples/django_app && pytest   # needs: pip install -r requirements.txt",
    ),
    Example(
        "fastapi_app",
        "a FastAPI application with a route, a live page and tests",
        ("fastapi_app",),
        "cd examples/fastapi_app && pytest   # needs: pip install -r requirements.txt",
    ),
)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(init)
    app.command()(examples)


def init(folder: Folder = Path(), force: Force = False, as_json: AsJson = False) -> None:
    """Write a first project that runs at once.

    The files are an agents file, a session file with an input and a person, a module with an agent in Python, a
    program as an agent, and first.py, which runs a session with nothing else. Existing files are never overwritten
    without --force.

    Example: [bold]symposia init my-project[/bold]
    """
    written = copy_starter(folder, force=force)
    python = "python first.py" if folder == Path() else f"cd {shlex.quote(str(folder))} && python first.py"
    _report(written, [python, "symposia up", "symposia run session.yaml   # in another terminal"], as_json)


def examples(
    name: Annotated[
        str | None, typer.Argument(help="Example to copy.", show_default="list all examples")
    ] = None,
    folder: Annotated[
        Path, typer.Argument(help="Target folder; created if needed.", show_default="examples")
    ] = Path("examples"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """List the examples of the package, or copy one of them.

    Existing files are never overwritten without --force.

    Example: [bold]symposia examples pair[/bold]
    """
    if name is None:
        _list(as_json)
        return
    example = find_example(name)
    written = copy_example(example, folder, force=force)
    start = example.start.replace("examples/", f"{shlex.quote(folder.as_posix())}/")
    services = ["symposia up   # in another terminal"] if example.needs_services else []
    _report(written, [*services, start], as_json)


def _list(as_json: bool) -> None:
    if as_json:
        print_json({"examples": [{"name": example.name, "summary": example.summary} for example in EXAMPLES]})
        return
    width = max(len(example.name) for example in EXAMPLES)
    lines = [f"{example.name:<{width}}  {example.summary}" for example in EXAMPLES]
    print_document("\n".join([*lines, "", "Copy one: symposia examples NAME"]))


def _report(written: list[Path], commands: list[str], as_json: bool) -> None:
    if as_json:
        print_json({"written": [str(path) for path in written], "next": commands})
        return
    print_document(
        "\n".join(
            [*(f"wrote {path}" for path in written), "", "Next:", *(f"  {command}" for command in commands)]
        )
    )


def find_example(name: str) -> Example:
    """Return the example of this name.

    Raises:
        InvalidInput: There is none.
    """
    from ...models.errors import InvalidInput

    examples_by_name = {example.name: example for example in EXAMPLES}
    if name not in examples_by_name:
        raise InvalidInput("example", name, f"must be one of {', '.join(examples_by_name)}")
    return examples_by_name[name]


def copy_starter(folder: Path, *, force: bool) -> list[Path]:
    """Copy the files of a new project into a folder. Arguments, result and errors as of `copy_example`."""
    source = FOLDER / STARTER
    return _copy({path: folder / path.relative_to(source) for path in _files(source)}, force=force)


def copy_example(example: Example, folder: Path, *, force: bool) -> list[Path]:
    """Copy an example into a folder, which is created if needed. No file is written if one of them exists.

    Args:
        example: The example.
        folder: Target; the files get the paths that they have below `examples`.
        force: Overwrite existing files.

    Returns:
        The files written, sorted.

    Raises:
        InvalidInput: A file exists, or the folder cannot be written.
    """
    sources = [path for name in example.files for path in _files(FOLDER / name)]
    return _copy({path: folder / path.relative_to(FOLDER) for path in sources}, force=force)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    # pip compiles modules of the package, and a checkout may hold bytecode, too.
    return sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


def _copy(pairs: dict[Path, Path], *, force: bool) -> list[Path]:
    from ...models.errors import InvalidInput

    try:
        taken = [path.name for path in pairs.values() if os.path.lexists(path)]
        if taken and not force:
            rule = "must not hold these files; --force overwrites them"
            raise InvalidInput("folder", ", ".join(taken), rule)
        for source, target in pairs.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_symlink():  # its target, which may be anywhere, stays as it is
                target.unlink()
            # Of the permissions, only those to execute: an installed package may be read-only.
            shutil.copyfile(source, target)
            if source.stat().st_mode & stat.S_IXUSR:
                target.chmod(target.stat().st_mode | stat.S_IXUSR)
    except OSError as error:
        where = error.filename or next(iter(pairs.values())).parent
        raise InvalidInput("folder", str(where), f"must be writable: {error.strerror or error}") from error
    return sorted(pairs.values())
