"""Data sets of planted defects: the one of the examples, and files that are refused."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from symposia.models.errors import InvalidInput
from symposia.reviews.evaluation.dataset import read_dataset, request_for_dataset
from symposia.reviews.values.defect_set import DefectSet
from symposia.reviews.values.runs import ReadItem
from symposia.reviews.values.scores import gaming_findings, perfect_findings, score_findings

SHIPPED = Path(__file__).parents[3] / "examples" / "review_eval"
SMALL = """
name = "small"
folder = "code"
kinds = { race = ["atomic"] }
files = [{ path = "a.py", set = "tuning", defects = [{ kind = "race", quote = "x = 1" }] }]
"""


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("x = 1\n")
    (tmp_path / "dataset.toml").write_text(SMALL)
    return tmp_path


def test_the_example_has_forty_defects_of_ten_kinds():
    loaded = read_dataset(SHIPPED)
    assert set(Counter(it.kind for it in loaded.defects).values()) == {4}
    assert len(loaded.dataset.kinds) == 10
    kinds_by_set = Counter((it.kind, it.set) for it in loaded.defects)
    assert set(kinds_by_set.values()) == {2}
    clean = Counter(it.set for it in loaded.dataset.files if not it.defects)
    assert clean == dict.fromkeys(DefectSet, 4)


def test_the_example_lists_all_its_files():
    listed = {it.path for it in read_dataset(SHIPPED).dataset.files}
    assert listed == {it.name for it in (SHIPPED / "code").iterdir() if it.is_file()}


def test_reviewers_are_shown_the_files_of_the_set_only():
    loaded = read_dataset(SHIPPED, chosen=DefectSet.TUNING)
    request = request_for_dataset(loaded, model="house")
    shown = {it.item.path for it in request.source if isinstance(it, ReadItem)}
    assert shown == {it.path for it in loaded.dataset.files}
    assert len(loaded.defects) == 20
    assert request.folder == SHIPPED / "code"


def test_a_dataset_is_found_by_its_folder_or_file(dataset: Path):
    assert read_dataset(dataset) == read_dataset(dataset / "dataset.toml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"x = 1"', '"y = 1"'), r"quote: must be on exactly one line of a\.py"),
        (('"race", quote', '"other", quote'), r"kinds must contain other"),
        (('"a.py"', '"b.py"'), r"path: must be a file of the data set: not found"),
        (('"a.py"', '"../a.py"'), r"path: must be a file of the data set: outside the root"),
        (("files =", "files ="[:-1]), r"dataset: must be valid TOML"),
        (('folder = "code"', 'folder = "none"'), r"root: must be a readable folder"),
    ],
    ids=["quote", "kind", "missing", "outside", "toml", "folder"],
)
def test_invalid_datasets_are_refused(dataset: Path, change: tuple[str, str], message: str):
    (dataset / "dataset.toml").write_text(SMALL.replace(*change))
    with pytest.raises(InvalidInput, match=message):
        read_dataset(dataset)


def test_set_without_files_is_refused(dataset: Path):
    with pytest.raises(InvalidInput, match="set: must have files"):
        read_dataset(dataset, chosen=DefectSet.HELD_BACK)


def test_missing_dataset_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInput, match="dataset: cannot be read"):
        read_dataset(tmp_path)


CHANGES = SHIPPED.with_name("review_eval_changes")


def test_changes_are_reviewed_with_their_removed_lines():
    loaded = read_dataset(CHANGES)
    request = request_for_dataset(loaded, model="house")
    read = {it.item.path: it for it in request.source if isinstance(it, ReadItem)}
    assert set(read) == {it.path for it in loaded.dataset.files}
    assert read["shop/limits.py"].item.kind == "deleted"
    for defect in loaded.defects:
        item = read[defect.path].item
        ranges = item.removed if defect.side == "left" else item.changed or ()
        assert any(first <= defect.end_line and defect.start_line <= last for first, last in ranges), defect
    perfect = perfect_findings(loaded.dataset, loaded.defects)
    gaming = gaming_findings(loaded.dataset, loaded.lines)
    scores = [score_findings(loaded.dataset, loaded.defects, it).f1 for it in (perfect, gaming)]
    assert (scores[0], scores[1] < 0.05) == (1.0, True)


def test_commits_are_fetched_as_a_data_set(tmp_path: Path):
    origin = tmp_path / "origin"
    origin.mkdir()
    run = partial(subprocess.run, cwd=origin, check=True, capture_output=True, text=True)
    run(["git", "init", "-q"])
    run(["git", "config", "uploadpack.allowAnySHA1InWant", "true"])
    for text in ("if bad:\n    raise ValueError\nx = 1\n", "x = 1\n"):
        (origin / "a.py").write_text(text)
        run(["git", "add", "-A"])
        run(["git", "-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "change"])
    commit = run(["git", "rev-parse", "HEAD"]).stdout.strip()
    script = SHIPPED.with_name("review_eval_commits")
    defect = '{ path = "a.py", kind = "removed-check", quote = "if bad:", lines = 2, side = "left" }'
    (tmp_path / "commits.toml").write_text(
        f'[[commits]]\nrepository = "file://{origin}"\nlicence = "MIT"\ncommit = "{commit}"\ndefects = [{defect}]\n'
        + (script / "commits.toml").read_text().replace("seed = 7", "")
    )
    subprocess.run([sys.executable, script / "fetch.py", "commits.toml", "set"], cwd=tmp_path, check=True)
    loaded = read_dataset(tmp_path / "set")
    assert [(it.path, it.start_line, it.side) for it in loaded.defects] == [
        (f"origin-{commit[:8]}/a.py", 1, "left")
    ]
