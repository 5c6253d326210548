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

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from ...models.errors import InvalidInput
from ...models.protocol.base import NonBlank
from ...models.text.numbered_lines import split_lines
from ...models.text.paths import MAX_PATH
from ...models.turns.frozen import Frozen
from .defect_set import DefectSet
from .findings import Finding

Kind = Annotated[NonBlank, Field(max_length=100)]
Word = Annotated[NonBlank, Field(max_length=100)]


class PlantedDefect(Frozen):
    """A planted defect."""

    kind: Kind
    #: Text that occurs on its first line, and on no other line of the file.
    quote: Annotated[NonBlank, Field(max_length=500)]
    #: Number of lines that a finding about it may name.
    lines: Annotated[int, Field(ge=1, le=100)] = 1


class DatasetFile(Frozen):
    """A file of a data set; without defects it measures false findings."""

    path: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    set: DefectSet
    defects: Annotated[tuple[PlantedDefect, ...], Field(max_length=1_000)] = ()


class Dataset(Frozen):
    """A data set of planted defects."""

    name: Annotated[NonBlank, Field(max_length=100)]
    #: Folder of the files, relative to that of the data set.
    folder: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    #: Words by kind: a finding is about a defect if its rule or its text contains one of them.
    kinds: Annotated[dict[Kind, tuple[Word, ...]], Field(min_length=1, max_length=100)]
    files: Annotated[tuple[DatasetFile, ...], Field(min_length=1, max_length=5_000)]

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        paths = [file.path for file in self.files]
        if len(set(paths)) < len(paths):
            raise ValueError("files must have different paths")
        unknown = {defect.kind for file in self.files for defect in file.defects} - self.kinds.keys()
        if unknown:
            raise ValueError(f"kinds must contain {', '.join(sorted(unknown))}")
        return self

    def of_set(self, chosen: DefectSet | None) -> Self:
        """Return the data set with the files of one set only; None: all files."""
        if chosen is None:
            return self
        return self.model_copy(update={"files": tuple(file for file in self.files if file.set is chosen)})


class PlacedDefect(Frozen):
    """A planted defect with its lines."""

    path: str
    set: DefectSet
    kind: str
    start_line: int
    end_line: int

    def is_found_by(self, finding: Finding, words: tuple[str, ...]) -> bool:
        """Return whether a finding is on its lines and contains one of the words."""
        if finding.path != self.path or not finding.start_line:
            return False
        if finding.start_line > self.end_line or finding.end_line < self.start_line:
            return False
        text = "\n".join((finding.rule, *finding.aliases, finding.message, finding.why, finding.suggestion))
        return any(word.casefold() in text.casefold() for word in words)


def place_defects(file: DatasetFile, text: str) -> Iterator[PlacedDefect]:
    """Yield the defects of a file with their lines.

    Raises:
        InvalidInput: A quote is not on exactly one line.
    """
    lines = split_lines(text)
    for defect in file.defects:
        numbers = [number for number, line in enumerate(lines, start=1) if defect.quote in line]
        if len(numbers) != 1:
            rule = f"must be on exactly one line of {file.path}, and is on {len(numbers)}"
            raise InvalidInput("quote", defect.quote, rule)
        yield PlacedDefect(
            path=file.path,
            set=file.set,
            kind=defect.kind,
            start_line=numbers[0],
            end_line=min(numbers[0] + defect.lines - 1, len(lines)),
        )
