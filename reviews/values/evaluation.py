"""Data set of an evaluation: files with planted defects, and files without any. Data only.

name = "planted-defects"
folder = "code"                    # reviewers are shown this folder, and not the file with the answers

[kinds]
race = ["race", "atomic"]          # words, one of which a finding of this kind contains

[[files]]
path = "wallet.py"
set = "held-back"
defects = [{ kind = "race", quote = "tempfile.mktemp(", lines = 2 }]
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from ...models.errors import InvalidInput
from ...models.protocol.base import NonBlank
from ...models.text.numbered_lines import split_lines
from ...models.text.paths import MAX_PATH
from ...models.turns.frozen import Frozen
from .defect_set import DefectSet
from .findings import Category, Finding, Side

Kind = Annotated[NonBlank, Field(max_length=100)]
Word = Annotated[NonBlank, Field(max_length=100)]


class PlantedDefect(Frozen):
    """A planted defect."""

    kind: Kind
    #: Text that occurs on its first line, and on no other line of the file.
    quote: Annotated[NonBlank, Field(max_length=500)]
    #: Number of lines that a finding about it may name.
    lines: Annotated[int, Field(ge=1, le=100)] = 1
    #: `left`: its lines were removed, and are those of the text before the change.
    side: Side = Side.RIGHT


class DatasetFile(Frozen):
    """A file of a data set; without defects it measures false findings."""

    path: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    #: None: the seed of the data set decides.
    set: DefectSet | None = None
    defects: Annotated[tuple[PlantedDefect, ...], Field(max_length=1_000)] = ()


class Dataset(Frozen):
    """A data set of planted defects."""

    name: Annotated[NonBlank, Field(max_length=100)]
    #: Folder of the files, relative to that of the data set.
    folder: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    #: Folder with the files before a change; empty: whole files are reviewed. Its files that `folder` lacks are deleted.
    before: Annotated[str, Field(max_length=MAX_PATH)] = ""
    #: Divides the files without a set between both sets.
    seed: int = 0
    #: Words by kind: a finding without a category is of the kinds of which its rule or text contains a word.
    kinds: Annotated[dict[Kind, tuple[Word, ...]], Field(min_length=1, max_length=100)]
    #: Categories by kind: a finding with a category is of the kinds with it.
    categories: dict[Kind, tuple[Category, ...]] = Field(default_factory=dict)
    files: Annotated[tuple[DatasetFile, ...], Field(min_length=1, max_length=5_000)]

    @model_validator(mode="after")
    def _divide(self) -> Self:
        files = tuple(
            file if file.set else file.model_copy(update={"set": _set_of(file.path, self.seed)})
            for file in self.files
        )
        object.__setattr__(self, "files", files)
        return self

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        paths = [file.path for file in self.files]
        if len(set(paths)) < len(paths):
            raise ValueError("files must have different paths")
        used = {defect.kind for file in self.files for defect in file.defects}
        unknown = (used | self.categories.keys()) - self.kinds.keys()
        if unknown:
            raise ValueError(f"kinds must contain {', '.join(sorted(unknown))}")
        return self

    def of_set(self, chosen: DefectSet | None) -> Self:
        """Return the data set with the files of one set only; None: all files."""
        if chosen is None:
            return self
        return self.model_copy(update={"files": tuple(file for file in self.files if file.set is chosen)})


def _set_of(path: str, seed: int) -> DefectSet:
    """Return the set of a file: one of both, by a hash of its path."""
    is_odd = hashlib.sha256(f"{seed}|{path}".encode()).digest()[0] % 2
    return DefectSet.HELD_BACK if is_odd else DefectSet.TUNING


#: Maximum lines of a finding, and kinds whose words it may contain: one that names everything is about nothing.
MAX_LINES, MAX_KINDS = 5, 3


def kinds_of(finding: Finding, dataset: Dataset) -> frozenset[str]:
    """Return the kinds that a finding is about: by its category if the data set has categories, else by its words."""
    if finding.category is not None and dataset.categories:
        return frozenset(
            kind for kind, categories in dataset.categories.items() if finding.category in categories
        )
    text = "\n".join(
        (finding.rule, *finding.aliases, finding.message, finding.why, finding.suggestion)
    ).casefold()
    kinds = {kind for kind, words in dataset.kinds.items() if any(word.casefold() in text for word in words)}
    return frozenset(kinds) if len(kinds) <= MAX_KINDS else frozenset()


class PlacedDefect(Frozen):
    """A planted defect with its lines."""

    path: str
    set: DefectSet
    kind: str
    start_line: int
    end_line: int
    side: Side = Side.RIGHT

    def is_at(self, finding: Finding) -> bool:
        """Return whether a finding is on its lines, on at most 5 lines or as many as the defect has."""
        if finding.path != self.path or not finding.start_line or finding.side is not self.side:
            return False
        lines = finding.end_line - finding.start_line + 1
        is_near = finding.start_line <= self.end_line and finding.end_line >= self.start_line
        return is_near and lines <= max(MAX_LINES, self.end_line - self.start_line + 1)


def place_defects(file: DatasetFile, text: str, before: str = "") -> Iterator[PlacedDefect]:
    """Yield the defects of a file with their lines; `before`: its text before the change.

    Raises:
        InvalidInput: A quote is not on exactly one line.
    """
    texts = {Side.RIGHT: split_lines(text), Side.LEFT: split_lines(before)}
    for defect in file.defects:
        lines = texts[defect.side]
        numbers = [number for number, line in enumerate(lines, start=1) if defect.quote in line]
        if len(numbers) != 1:
            rule = f"must be on exactly one line of {file.path}, and is on {len(numbers)}"
            raise InvalidInput("quote", defect.quote, rule)
        yield PlacedDefect(
            path=file.path,
            set=file.set or DefectSet.TUNING,
            kind=defect.kind,
            start_line=numbers[0],
            end_line=min(numbers[0] + defect.lines - 1, len(lines)),
            side=defect.side,
        )
