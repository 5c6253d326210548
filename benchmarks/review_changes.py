"""Recall and precision of a panel over real changes: those that brought in a defect, and harmless ones.

    git clone https://github.com/pallets/werkzeug CLONES/pallets/werkzeug
    .venv/bin/python benchmarks/review_changes.py CLONES --model house --set tuning

`review_changes.toml` lists commits of public projects, with the lines that a later commit fixed. Each is reviewed against its
parent in a worktree of the clone, as a pull request is. Projects without a clone are left out. A finding counts as in
`symposia review eval`: by its lines and its category.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from symposia.cli.reviews.local_review import LocalReviewRequest, ReviewProgress, run_local_review
from symposia.reviews.requests.files import request_for_files
from symposia.reviews.values.defect_set import DefectSet
from symposia.reviews.values.evaluation import Dataset, PlacedDefect
from symposia.reviews.values.findings import Category, Side
from symposia.reviews.values.panels import BatchLimits
from symposia.reviews.values.scores import Score, score_run

LIST = Path(__file__).with_suffix(".toml")
NOTHING = Score(0, 0, 0, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clones", type=Path, help="folder of clones, as OWNER/NAME")
    parser.add_argument("--panel", default="code")
    parser.add_argument("--model", help="agent for the model reviewers of the panel")
    parser.add_argument("--set", type=DefectSet, choices=[*DefectSet], help="changes of one set only")
    parser.add_argument("--most", type=int, help="number of changes of each project")
    parser.add_argument("--max-usd", type=float, help="limit of the cost of one change")
    chosen = parser.parse_args()
    scores = {"with a defect": NOTHING, "harmless": NOTHING}
    for clone, change in read_changes(chosen.clones, chosen.set, chosen.most):
        score = review(clone, change, chosen)
        kind = "with a defect" if "path" in change else "harmless"
        scores[kind] = add(scores[kind], score)
        print(
            f"{clone.name} {change['commit'][:8]} {kind}: {score.found} found, {score.findings} findings",
            flush=True,
        )
    for name, score in {**scores, "total": add(*scores.values())}.items():
        print(f"{name}: {describe(score)}")


def read_changes(clones: Path, chosen: DefectSet | None, most: int | None) -> Iterator[tuple[Path, Any]]:
    """Yield the changes with the clones of their projects."""
    for project in tomllib.loads(LIST.read_text())["repositories"]:
        clone = clones / project["name"]
        if not clone.is_dir():
            print(f"{project['name']} is left out: no clone in {clone}")
            continue
        changes = [change for change in project["changes"] if chosen in (None, change["set"])]
        yield from ((clone, change) for change in changes[:most])


def review(clone: Path, change: dict[str, Any], chosen: argparse.Namespace) -> Score:
    """Review a change in a worktree, and return its score."""
    commit = change["commit"]
    with worktree(clone, commit) as folder, ReviewProgress(Console(stderr=True), verbose=False) as progress:
        asked = LocalReviewRequest(
            order=lambda _: request_for_files(
                [folder], panel=chosen.panel, model=chosen.model, since=f"{commit}~1", root_name=clone.name
            ),
            limits=BatchLimits(max_usd=chosen.max_usd),
        )
        run = run_local_review(asked, progress).run
    defects = [
        PlacedDefect(
            path=change["path"],
            set=change["set"],
            kind=change["category"],
            start_line=change["line"],
            end_line=change.get("end_line", change["line"]),
            side=Side(change.get("side", Side.RIGHT)),
        )
    ] if "path" in change else []  # fmt: skip
    paths = {finding.path for finding in run.open_findings} | {defect.path for defect in defects}
    if not paths:
        return NOTHING
    dataset = Dataset.model_validate(
        {
            "name": commit,
            "folder": ".",
            "kinds": {category: {"category": category} for category in Category},
            "files": [{"path": path, "set": change["set"]} for path in sorted(paths)],
        }
    )
    return score_run(dataset, defects, run).total


@contextmanager
def worktree(clone: Path, commit: str) -> Iterator[Path]:
    """Check out a commit beside the clone's own files, which stay as they are."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / clone.name
        git(clone, "worktree", "add", "--quiet", "--detach", str(folder), commit)
        try:
            yield folder
        finally:
            git(clone, "worktree", "remove", "--force", str(folder))


def git(clone: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(clone), *arguments], check=True)  # noqa: S607 - the git of the user


def add(*scores: Score) -> Score:
    """Return the sum of scores."""
    counts = [(score.planted, score.found, score.findings, score.true_findings) for score in scores]
    return Score(*map(sum, zip(*counts, strict=True)))


def describe(score: Score) -> str:
    shares = (("recall", score.recall), ("precision", score.precision), ("F1", score.f1))
    figures = ", ".join(f"{name} {share:.0%}" for name, share in shares if share is not None)
    return f"{score.found} of {score.planted} found, {score.findings} findings; {figures}"


if __name__ == "__main__":
    main()
