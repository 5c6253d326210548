"""Settings of the reviewed project are read as data, below the root only."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.errors import InvalidInput
from symposia.reviews.sources.files import list_files
from symposia.reviews.sources.project_settings import read_given_settings, read_project_settings
from symposia.reviews.values.tool_settings import ToolSettings, join_below


@pytest.fixture
def project(tmp_path):
    """Return a function that writes files and returns the settings of their project."""
    root = tmp_path / "shop"

    def read(**files: str) -> ToolSettings:
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return read_project_settings(root, list_files(root))

    return read


def test_only_keys_about_rules_are_read(project):
    text = """
    [project]
    requires-python = ">=3.10"
    [tool.ruff]
    line-length = 100
    fix = true
    cache-dir = "/tmp/x"
    output-file = "/tmp/y"
    [tool.ruff.lint]
    select = ["E", "F"]
    unfixable = ["E"]
    [tool.ruff.lint.isort]
    force-single-line = true
    [tool.ruff.lint.flake8-quotes]
    inline-quotes = "single"
    [tool.bandit]
    skips = ["B101"]
    exclude_dirs = ["tests"]
    severity = "LOW"
    plugin_name_pattern = "*"
    [tool.bandit.assert_used]
    skips = ["*_check.py"]
    """
    found = project(**{"pyproject.toml": text}).for_path("a.py", "")
    lint = {
        "select": ["E", "F"],
        "isort": {"force-single-line": True},
        "flake8-quotes": {"inline-quotes": "single"},
    }
    assert found["ruff"] == {"pyproject.toml": {"line-length": 100, "lint": lint}}
    assert found["python"] == {"": ">=3.10"}
    assert found["bandit"] == {
        "skips": ["B101"],
        "exclude_dirs": ["tests"],
        "severity": "low",
        "assert_used": {"skips": ["*_check.py"]},
    }


def test_nearest_settings_apply(project):
    found = project(
        **{
            "pyproject.toml": "[tool.ruff]\nline-length = 80\n[tool.bandit]\nskips = ['B101']\n",
            "lib/ruff.toml": "line-length = 90\n",
            "lib/pyproject.toml": "[tool.ruff]\nline-length = 99\n",
            "lib/deep/pyproject.toml": "[project]\nname = 'x'\n",
            "lib/.bandit": "[bandit]\nskips = B102, B103\nexclude = /old\nlevel = 3\n",
        }
    )
    assert found.for_path("a.py", "")["ruff"] == {"pyproject.toml": {"line-length": 80}}
    assert found.for_path("lib/deep/a.py", "")["ruff"] == {"lib/ruff.toml": {"line-length": 90}}
    assert found.for_path("a.py", "")["bandit"] == {"skips": ["B101"]}
    assert found.for_path("lib/a.py", "")["bandit"] == {
        "skips": ["B102", "B103"],
        "exclude_dirs": ["/old"],
        "severity": "high",
    }


def test_extended_settings_are_read_below_the_root_only(project, tmp_path):
    (tmp_path / "outside.toml").write_text("line-length = 50\n")
    found = project(
        **{
            "ruff.toml": "line-length = 70\n",
            "a/ruff.toml": "extend = '../ruff.toml'\n",
            "b/ruff.toml": "extend = '../../outside.toml'\nline-length = 60\n",
        }
    )
    assert list(found.for_path("a/x.py", "")["ruff"]) == ["a/ruff.toml", "ruff.toml"]
    assert found.for_path("b/x.py", "")["ruff"] == {"b/ruff.toml": {"line-length": 60}}
    assert [(it.path, "`extend` not used" in it.reason) for it in found.notes] == [("b/ruff.toml", True)]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("ruff.toml", "line-length = ", "settings not used"),
        ("bandit.yaml", "a: &a [x]\nskips: [*a, *a]\n", "aliases are not read"),
        ("bandit.yaml", "skips: !!python/object/apply:os.system ['true']\n", "settings not used"),
        ("ruff.toml", f"select = {'[' * 9}{']' * 9}\n", "too deeply nested"),
        ("ruff.toml", "# " + "x" * 300_000, "larger than"),
    ],
)
def test_unusable_settings_are_reported(project, name, text, said):
    found = project(**{name: text})
    assert [said in it.reason for it in found.notes] == [True], found.notes
    assert not found.ruff
    assert not found.bandit


def test_settings_behind_a_link_are_not_read(project, tmp_path):
    (tmp_path / "secret.toml").write_text("line-length = 50\n")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "ruff.toml").symlink_to(tmp_path / "secret.toml")
    assert not project().ruff


def test_too_long_settings_are_dropped(project):
    lists = "\n".join(f"[tool.bandit.x{at}]\na = ['{'y' * 1000}']" for at in range(200))
    found = project(**{"pyproject.toml": lists})
    assert not found.bandit
    assert "longer than" in found.notes[0].reason


def test_imported_modules_of_the_project_are_named(project):
    files = dict.fromkeys(("src/shop/__init__.py", "src/shop/till.py", "tools/run.py", "other.py"), "")
    found = project(**files)
    text = "   1 | import os, other\n   2 | from shop.till import close\n"
    assert found.for_path("src/shop/x.py", text)["modules"] == [
        *("src/shop/__init__.py", "other.py", "src/shop/till.py")
    ]
    assert found.for_path("x.py", "import tools.run, os")["modules"] == ["tools/run.py"]
    assert found.for_path("x.py", "import tools")["modules"] == ["tools/"]


def test_named_files_replace_the_settings_of_the_project(project, tmp_path):
    project(**{"ruff.toml": "line-length = 70\n", "lib/ruff.toml": "line-length = 71\n"})
    mine = tmp_path / "mine.toml"
    mine.write_text("[lint]\nselect = ['ALL']\n")
    found = read_given_settings([mine], list_files(tmp_path / "shop"))
    assert found.for_path("lib/a.py", "")["ruff"] == {"ruff.toml": {"lint": {"select": ["ALL"]}}}
    assert read_given_settings([], []).for_path("a.py", "")["ruff"] == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "cannot be read"), ("x = ", "must be valid"), ("extend = 'y'", "must not have `extend`")],
)
def test_bad_named_file_is_refused(tmp_path, text, said):
    path = Path(tmp_path, "mine.toml")
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidInput, match=said):
        read_given_settings([path], [])


def test_hash_changes_with_the_settings_of_a_file_only(project):
    def hashes(found):
        return [found.sha_for_path(it, "import shop\n") for it in ("a.py", "lib/b.py")]

    first = hashes(project(**{"ruff.toml": "line-length = 70\n", "lib/ruff.toml": "", "other.py": ""}))
    assert hashes(project(**{"another.py": ""})) == first
    changed = hashes(project(**{"lib/ruff.toml": "line-length = 71\n"}))
    assert (changed[0], changed[1] != first[1]) == (first[0], True)
    assert hashes(project(**{"shop.py": ""}))[0] != first[0]
    assert hashes(ToolSettings()) == ["", ""]


_PARTS = st.lists(st.sampled_from(["..", ".", "a", "b", ""]), max_size=6).map("/".join)


@given(_PARTS.filter(lambda it: ".." not in it), _PARTS)
def test_joined_paths_never_leave_the_root(folder: str, path: str) -> None:
    joined = join_below(folder, path)
    assert joined is None or not {"..", "."} & set(joined.split("/"))


@pytest.mark.timeout(20)
def test_many_imports_and_sources_take_little_memory() -> None:
    many = [f"s{n}" for n in range(1_200)]
    settings = ToolSettings(
        ruff={"pyproject.toml": {"src": [*many]}}, modules=("s7/m9.py", "s8/m1/deep.py", "x/m2.py")
    )
    text = f"import {', '.join(f'm{n}' for n in range(1_200))}\n"
    tracemalloc.start()
    try:
        modules = settings.for_path("a.py", text)["modules"]
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert modules == ["s8/m1/", "s7/m9.py"]


PARTS = st.sampled_from(["a", "b", "c", "src", "d.e"])
PATHS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)


@given(
    st.lists(PATHS.flatmap(lambda it: st.sampled_from([f"{it}.py", f"{it}/__init__.py", f"{it}.pyi"]))),
    st.lists(PATHS, max_size=3),
    st.lists(st.lists(PARTS, min_size=1, max_size=3).map(".".join), max_size=4),
)
def test_imports_name_what_exists_below_a_source(
    modules: list[str], sources: list[str], names: list[str]
) -> None:
    settings = ToolSettings(ruff={"ruff.toml": {"src": [*sources]}}, modules=tuple(modules))
    found = settings.for_path("z/file.py", "".join(f"import {it}\n" for it in names))["modules"]
    wanted = set[str]()
    for source in sources:
        for name in names:
            stem = f"{source}/{name.replace('.', '/')}"
            wanted |= {it for it in modules if it in (f"{stem}.py", f"{stem}/__init__.py")}
            wanted |= {f"{stem}/" for it in modules if it.startswith(f"{stem}/")}
    assert isinstance(found, list)
    assert set(found) == wanted
