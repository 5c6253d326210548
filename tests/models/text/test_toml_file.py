"""TOML files of people are read within a limit, and every problem is one rule."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.text.paths import TomlFileError, read_toml


def test_tables_of_a_file_are_returned(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[one]\nname = "é"\n', encoding="utf-8")
    assert read_toml(tmp_path / "a.toml") == {"one": {"name": "é"}}


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"[one", "must be valid TOML: "),
        (b"\xff = 1", "must be valid TOML: "),
        (b"a = " + b"[" * 3_000, "must be valid TOML: "),
        (b"#" * 4_001, "must be at most 4000 bytes"),
    ],
)
def test_bad_file_is_refused_with_its_rule(tmp_path: Path, content: bytes, rule: str) -> None:
    (tmp_path / "a.toml").write_bytes(content)
    with pytest.raises(TomlFileError) as refused:
        read_toml(tmp_path / "a.toml", max_bytes=4_000)
    assert refused.value.rule.startswith(rule)


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TomlFileError, match=r"^cannot be read: No such file or directory$"):
        read_toml(tmp_path / "a.toml")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "a.toml"
    path.write_bytes(content)
    with suppress(TomlFileError):
        assert isinstance(read_toml(path), dict)
