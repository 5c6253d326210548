"""The temporary folder of a program: files at their paths, settings as TOML."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.reviews.reviewers.workspace import bandit_options, is_safe_path, to_toml, workspace

_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
_VALUES = st.recursive(
    _TEXTS | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_TEXTS, _VALUES, max_size=4))
def test_toml_is_read_back_unchanged(table) -> None:
    assert tomllib.loads(to_toml(table)) == table


@pytest.mark.parametrize("path", ["", "/a", "a/../b", "./a", "a//b", "a\\b", "a\nb", "x" * 300, "a\0b"])
def test_unsafe_paths_are_not_written(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_safe_path(path)
    with workspace({path: "x"}, {}) as folder:
        assert [it.name for it in folder.iterdir()] == ["pyproject.toml"]


def test_files_and_settings_lie_at_their_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {
        "ruff": {"lib/pyproject.toml": {"line-length": 70}},
        "python": {"": ">=3.11"},
        "modules": ["lib/__init__.py", "src/shop/", "../out.py"],
        "bandit": {"skips": ["B101"], "severity": "low"},
    }
    with workspace({"lib/a.py": "x = 1\n"}, settings) as folder:
        found = {str(it.relative_to(folder)) for it in folder.rglob("*") if it.is_file()}
        assert found == {
            *("lib/a.py", "lib/pyproject.toml", "lib/__init__.py", "pyproject.toml", "symposia_bandit.toml")
        }
        assert (folder / "src/shop").is_dir()
        assert tomllib.loads((folder / "symposia_bandit.toml").read_text()) == {
            "tool": {"bandit": {"skips": ["B101"]}}
        }
    assert not list(tmp_path.iterdir())


def test_bandit_reports_medium_severity_by_default():
    assert bandit_options({}) == ["--severity-level=medium", "--confidence-level=low"]
    assert bandit_options({"bandit": {"severity": "low"}})[0] == "--severity-level=low"
