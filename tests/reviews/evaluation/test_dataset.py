"""Data sets of planted defects: the one of the examples, and files that are refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from symposia.models.errors import InvalidInput
from symposia.reviews.evaluation.dataset import read_dataset, request_for_dataset
from symposia.reviews.values.defect_set import DefectSet
from symposia.reviews.values.runs import ReadItem

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
