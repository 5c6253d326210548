"""The examples that are part of the package: their list, and copies of them in a folder."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from ..models.errors import InvalidInput

#: Folder of the examples, in the checkout and in the wheel.
FOLDER = Path(__file__).parents[1] / "examples"


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

EXAMPLES = (
    Example(
        "round_robin",
        "three participants in order; local model",
        ("round_robin.yaml",),
        "symposia run examples/round_robin.yaml",
    ),
    Example(
        "orchestrated",
        "an orchestrator names the next participants",
        ("orchestrated.yaml",),
        "symposia run examples/orchestrated.yaml",
    ),
    Example("pair", "a driver and a navigator alternate", ("pair.yaml",), "symposia run examples/pair.yaml"),
    Example(
        "broadcast",
        "one question to all at the same time; local model",
        ("broadcast.yaml",),
        "symposia run examples/broadcast.yaml",
    ),
    Example(
        "swarm", "participants take items from a board", ("swarm.yaml",), "symposia run examples/swarm.yaml"
    ),
    Example(
        "inputs",
        "a session file with inputs",
        ("inputs.yaml",),
        "symposia run examples/inputs.yaml --set topic=doors",
    ),
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
    Example(
        "program",
        "a pair session from Python",
        ("review.py",),
        "python examples/review.py",
        needs_services=True,
    ),
    Example(
        "editor",
        "a person reviews what an agent writes, from Python",
        ("editor.py",),
        "python examples/editor.py",
        needs_services=True,
    ),
    Example(
        "trip",
        "dialog memory: a request that refers to an earlier one",
        ("trip.py",),
        "python examples/trip.py",
        needs_services=True,
    ),
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
)


def find_example(name: str) -> Example:
    """Return the example of this name.

    Raises:
        InvalidInput: There is none.
    """
    known = {it.name: it for it in EXAMPLES}
    if name not in known:
        raise InvalidInput("example", name, f"must be one of {', '.join(known)}")
    return known[name]


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
    found = [path for name in example.files for path in _files(FOLDER / name)]
    return _copy({path: folder / path.relative_to(FOLDER) for path in found}, force=force)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    # pip compiles modules of the package, and a checkout may hold bytecode, too.
    return sorted(it for it in path.rglob("*") if it.is_file() and "__pycache__" not in it.parts)


def _copy(pairs: dict[Path, Path], *, force: bool) -> list[Path]:
    try:
        taken = [it.name for it in pairs.values() if os.path.lexists(it)]
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
