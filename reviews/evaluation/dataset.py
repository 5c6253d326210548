"""A data set of planted defects on disk, and the request that reviews it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

from pydantic import ValidationError

from ...models.errors import InvalidInput, invalid_input
from ...models.text.numbered_lines import split_lines
from ...models.text.paths import TomlFileError, read_toml
from ..batches.request import ReviewRequest
from ..panels import project_settings, resolve_panel
from ..requests.roots import root_identity
from ..sources.document_facts import source_of
from ..sources.files import FileSelection
from ..sources.sandboxed_folder import SandboxedFolder
from ..sources.source import SourceLimits
from ..values.changes import ChangeDescription
from ..values.defect_set import DefectSet
from ..values.evaluation import Dataset, PlacedDefect, place_defects
from ..values.runs import SkippedItem
from .change_repository import change_repository

#: File of a data set in its folder.
FILE_NAME = "dataset.toml"


@dataclass(frozen=True, slots=True)
class LoadedDataset:
    """A data set, the folder of its files, and its defects with their lines."""

    dataset: Dataset
    root: Path
    defects: tuple[PlacedDefect, ...]
    #: Number of lines by path.
    lines: Mapping[str, int]
    #: Folder with the files before the change; None: whole files are reviewed.
    before: Path | None = None


def read_dataset(path: Path, *, chosen: DefectSet | None = None) -> LoadedDataset:
    """Return a data set.

    Args:
        path: Its folder, or its file.
        chosen: Only the files of this set; None: all.

    Raises:
        InvalidInput: The file cannot be read or breaks a rule, or a defect is not in its file.
    """
    file = path / FILE_NAME if path.is_dir() else path
    dataset = _parse(file).of_set(chosen)
    if not dataset.files:
        raise InvalidInput("set", str(chosen), f"must have files in {file}")
    root = file.parent / dataset.folder
    before = file.parent / dataset.before if dataset.before else None
    texts = _texts(root, dataset)
    old = {} if before is None else _texts(before, dataset)
    defects = (
        defect
        for entry in dataset.files
        for defect in place_defects(entry, texts.get(entry.path, ""), old.get(entry.path, ""))
    )
    for entry in dataset.files:
        if entry.path not in texts and entry.path not in old:
            raise InvalidInput("path", entry.path, "must be a file of the data set: not found")
    lines = {path: len(split_lines(text)) for path, text in texts.items()}
    return LoadedDataset(dataset, root, tuple(defects), lines, before)


def _texts(root: Path, dataset: Dataset) -> dict[str, str]:
    """Return the texts of the files that are below a folder, by path."""
    with SandboxedFolder(root) as folder:
        paths = [entry.path for entry in dataset.files if not dataset.before or folder.exists(entry.path)]
        return {path: _text(folder, path) for path in paths}


class HowToEvaluate(TypedDict, total=False):
    """Options of an evaluation; every key is optional."""

    #: Name of the panel (default `code`).
    panel: str
    #: Agent for the model reviewers of the panel; None: no model is called.
    model: str | None
    #: True: review files again that this panel has reviewed before.
    everything: bool
    #: Files of settings of ruff and bandit instead of those in the data set; None: those; empty: none.
    config: Sequence[str | Path] | None


def request_for_dataset(loaded: LoadedDataset, **how: Unpack[HowToEvaluate]) -> ReviewRequest:
    """Return the request to review the files of a data set. Reviewers see the folder of the files only.

    Raises:
        InvalidInput: The panel does not exist, or an agent is unknown.
    """
    panel = resolve_panel(how.get("panel", "code"), how.get("model"), None, known_agents=frozenset())
    paths = [file.path for file in loaded.dataset.files]
    root, base = loaded.root, None
    if loaded.before is not None:
        root, base = change_repository(loaded.before, loaded.root, paths), "HEAD"
    return ReviewRequest(
        root_name=loaded.dataset.name,
        root=root_identity(loaded.root),
        panel=panel,
        source=source_of(root, FileSelection(paths=paths, base=base), panel),
        settings=project_settings(panel, root, how.get("config")),
        folder=root,
        everything=how.get("everything", False),
        change=ChangeDescription() if base else None,
    )


def _parse(file: Path) -> Dataset:
    try:
        return Dataset.model_validate(read_toml(file))
    except TomlFileError as error:
        raise InvalidInput("dataset", str(file), error.rule) from None
    except ValidationError as error:
        raise invalid_input(error, str(file)) from None


def _text(folder: SandboxedFolder, path: str) -> str:
    data = folder.read(path, limit=SourceLimits().item_bytes)
    if isinstance(data, SkippedItem):
        raise InvalidInput("path", path, f"must be a file of the data set: {data.reason}")
    return data.decode(errors="replace")
