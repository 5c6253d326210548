"""Score of a run over a data set of planted defects: recall and precision by kind. Pure.

A finding is about a defect if it is on its lines and of its kind. Each finding finds one defect, and each defect is found
by one finding: others are false, also those that repeat it.

Recall is the share of the planted defects that are found; a defect in a file that was not reviewed is missed.
Precision is the share of the findings that are about a planted defect: for a kind, of those in the files with
defects of this kind; in total, of all findings, also those in files without defects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...models.severity import Severity
from .defect_set import DefectSet
from .evaluation import Dataset, PlacedDefect, kinds_of
from .findings import MAX_MESSAGE, Finding, Side
from .runs import ItemState, ReviewRun


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of defects and findings."""

    planted: int
    found: int
    findings: int
    #: Findings about a planted defect.
    true_findings: int

    @property
    def recall(self) -> float | None:
        """Share of the planted defects that are found; None: none is planted."""
        return self.found / self.planted if self.planted else None

    @property
    def precision(self) -> float | None:
        """Share of the findings that are about a planted defect; None: there is no finding."""
        return self.true_findings / self.findings if self.findings else None

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision; 0 if nothing is found."""
        recall, precision = self.recall or 0.0, self.precision or 0.0
        return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of a run."""

    #: By kind, in the order of the data set.
    kinds: Mapping[str, Score]
    #: By set, of those that have files.
    sets: Mapping[DefectSet, Score]
    total: Score
    #: Findings in the files without defects, and the number of these files.
    clean_findings: int
    clean_files: int
    #: Files that were not reviewed: failed, or skipped by the panel.
    unreviewed: tuple[str, ...]
    missed: tuple[PlacedDefect, ...]
    false_findings: tuple[Finding, ...]


def score_findings(dataset: Dataset, defects: Sequence[PlacedDefect], findings: Sequence[Finding]) -> Score:
    """Return the total score of some findings."""
    true = sum(mark.defect is not None for mark in _match(findings, defects, dataset))
    return Score(len(defects), true, len(findings), true)


def score_run(dataset: Dataset, defects: Sequence[PlacedDefect], run: ReviewRun) -> Evaluation:
    """Return the scores of a run.

    Args:
        dataset: The data set, or a part of it.
        defects: All its defects with their lines.
        run: A review of its files.
    """
    paths = {file.path for file in dataset.files}
    findings = [finding for finding in run.open_findings if finding.path in paths]
    marks = _match(findings, defects, dataset)
    found_defects = {mark.defect for mark in marks if mark.defect}

    def score(paths: Collection[str], kind: str | None = None) -> Score:
        mine = [mark for mark in marks if mark.finding.path in paths]
        planted = [defect for defect in defects if defect.path in paths and kind in (None, defect.kind)]
        return Score(
            len(planted),
            sum(defect in found_defects for defect in planted),
            len(mine),
            sum(mark.defect is not None for mark in mine),
        )

    kinds = {kind: {defect.path for defect in defects if defect.kind == kind} for kind in dataset.kinds}
    sets = {name: {file.path for file in dataset.files if file.set is name} for name in DefectSet}
    clean = {file.path for file in dataset.files if not file.defects}
    reviewed = {
        result.item.path for result in run.results if result.state in (ItemState.DONE, ItemState.UNCHANGED)
    }
    return Evaluation(
        kinds={kind: score(its_paths, kind) for kind, its_paths in kinds.items() if its_paths},
        sets={name: score(its_paths) for name, its_paths in sets.items() if its_paths},
        total=score(paths),
        clean_findings=score(clean).findings,
        clean_files=len(clean),
        unreviewed=tuple(file.path for file in dataset.files if file.path not in reviewed),
        missed=tuple(defect for defect in defects if defect not in found_defects),
        false_findings=tuple(mark.finding for mark in marks if mark.defect is None),
    )


@dataclass(frozen=True, slots=True)
class _Match:
    """A finding, and the defect that it is about; None: it is false."""

    finding: Finding
    defect: PlacedDefect | None


def _match(findings: Sequence[Finding], defects: Sequence[PlacedDefect], dataset: Dataset) -> list[_Match]:
    """Return each finding with its defect: as many pairs as possible (augmenting paths)."""
    candidates = [
        [at for at, defect in enumerate(defects) if defect.kind in kinds and defect.is_at(finding)]
        for finding, kinds in ((finding, kinds_of(finding, dataset)) for finding in findings)
    ]
    finder: dict[int, int] = {}

    def assign(number: int, seen: set[int]) -> bool:
        for at in candidates[number]:
            if at in seen:
                continue
            seen.add(at)
            if at not in finder or assign(finder[at], seen):
                finder[at] = number
                return True
        return False

    for number in range(len(findings)):
        assign(number, set())
    found_by = {number: defects[at] for at, number in finder.items()}
    return [_Match(finding, found_by.get(number)) for number, finding in enumerate(findings)]


def perfect_findings(dataset: Dataset, defects: Sequence[PlacedDefect]) -> list[Finding]:
    """Return the findings of a scripted reviewer that reports each defect once: the best possible score."""
    return [
        _scripted(
            defect.path, defect.start_line, defect.end_line, dataset.kinds[defect.kind][0], side=defect.side
        )
        for defect in defects
    ]


def gaming_findings(dataset: Dataset, lines: Mapping[str, int]) -> list[Finding]:
    """Return the findings of a scripted reviewer that marks each file with all words, which must score low.

    It marks the whole file, and each of its lines. `lines`: number of lines by path.
    """
    words = " ".join(word for kind in dataset.kinds.values() for word in kind)
    ranges = (
        (path, [(1, count), *((line, line) for line in range(1, count + 1))]) for path, count in lines.items()
    )
    return [_scripted(path, start, end, words) for path, spans in ranges for start, end in spans]


def _scripted(path: str, start: int, end: int, message: str, *, side: Side = Side.RIGHT) -> Finding:
    return Finding(
        path=path,
        start_line=start,
        end_line=end,
        rule="scripted",
        severity=Severity.HIGH,
        message=message[:MAX_MESSAGE],
        side=side,
    )
