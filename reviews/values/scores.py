"""Score of a run over a data set of planted defects: recall and precision by kind. Pure.

Recall is the share of the planted defects that are found; a defect in a file that was not reviewed is missed.
Precision is the share of the findings that are about a planted defect: for a kind, of those in the files with
defects of this kind; in total, of all findings, also those in files without defects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .defect_set import DefectSet
from .evaluation import Dataset, PlacedDefect
from .findings import Finding
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


def score_run(dataset: Dataset, defects: Sequence[PlacedDefect], run: ReviewRun) -> Evaluation:
    """Return the scores of a run.

    Args:
        dataset: The data set, or a part of it.
        defects: All its defects with their lines.
        run: A review of its files.
    """
    paths = {file.path for file in dataset.files}
    findings = [finding for finding in run.open_findings if finding.path in paths]
    marks = [_Match(finding, tuple(_found_by(finding, defects, dataset.kinds))) for finding in findings]
    found_defects = {defect for mark in marks for defect in mark.defects}

    def score(paths: Collection[str], kind: str | None = None) -> Score:
        mine = [mark for mark in marks if mark.finding.path in paths]
        planted = [defect for defect in defects if defect.path in paths and kind in (None, defect.kind)]
        return Score(
            len(planted),
            sum(defect in found_defects for defect in planted),
            len(mine),
            sum(bool(mark.defects) for mark in mine),
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
        false_findings=tuple(mark.finding for mark in marks if not mark.defects),
    )


@dataclass(frozen=True, slots=True)
class _Match:
    """A finding, and the defects that it is about."""

    finding: Finding
    defects: tuple[PlacedDefect, ...]


def _found_by(
    finding: Finding, defects: Iterable[PlacedDefect], words: Mapping[str, tuple[str, ...]]
) -> Iterable[PlacedDefect]:
    return (defect for defect in defects if defect.is_found_by(finding, words[defect.kind]))
