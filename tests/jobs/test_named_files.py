"""Files that a session names: regular files below its folder, and errors without their content."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symposia.evaluation.cases_file import CasesFile
from symposia.jobs.session_file import SessionFile, with_session_files
from symposia.models.errors import InvalidInput
from symposia.models.text.json_text import dump_json

SESSION = {"title": "t", "purpose": "p", "mode": "round_robin", "participants": [{"participant_id": "ann"}]}
SECRET = "root:x:0:0:hunter2"
FIELDS: dict[str, Callable[[str], dict[str, Any]]] = {
    "session": lambda path: {"participants": [{"participant_id": "ann", "agent": {"session": path}}]},
    "output_schema": lambda path: {"output_schema": path},
    "attachments": lambda path: {"attachments": [path]},
}
every_field = pytest.mark.parametrize("field", FIELDS)


@pytest.fixture
def submit(tmp_path: Path) -> Callable[..., Any]:
    """Reads a session file in `tmp_path/own` that names a file."""
    own = tmp_path / "own"
    own.mkdir()

    def read(field: str, path: object, root: Path | None = None) -> Any:
        file = own / "session.yaml"
        file.write_text(dump_json({**SESSION, **FIELDS[field](str(path))}))
        return SessionFile.open(str(file), root=root).submission()

    return read


def written(path: Path, field: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(dump_json(SESSION if field == "session" else {"type": "object"}))
    return path


@every_field
def test_file_below_the_folder_or_the_root_is_read(submit: Any, tmp_path: Path, field: str) -> None:
    written(tmp_path / "own" / "below" / "file.json", field)
    other = written(tmp_path / "other" / "file.json", field)
    assert submit(field, "below/file.json")
    assert submit(field, other, tmp_path / "other")


@every_field
@pytest.mark.parametrize("form", ["absolute", "above", "link"])
def test_file_of_another_folder_is_refused(submit: Any, tmp_path: Path, field: str, form: str) -> None:
    other = written(tmp_path / "other" / "file.json", field)
    (tmp_path / "own" / "link").symlink_to(other)
    named = {"absolute": other, "above": "../other/file.json", "link": "link"}[form]
    with pytest.raises(InvalidInput, match="must be a file below the folder of the session file"):
        submit(field, named)


@every_field
def test_pipe_is_refused_at_once(submit: Any, tmp_path: Path, field: str) -> None:
    os.mkfifo(tmp_path / "own" / "pipe")
    with pytest.raises(InvalidInput, match=r"must be a (regular )?file"):
        submit(field, "pipe")
    with pytest.raises(InvalidInput, match="must be a regular file"):
        SessionFile.open(str(tmp_path / "own" / "pipe"))


@every_field
@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f'{{"type": "{SECRET}", "{SECRET}": 1}}',
        f'{{"mode": "{SECRET}", "type": "{SECRET}"}}',
        f"- {SECRET}",
    ],
)
def test_errors_show_no_content_of_a_named_file(submit: Any, tmp_path: Path, field: str, text: str) -> None:
    (tmp_path / "own" / "file").write_text(text)
    if field == "attachments":
        assert submit(field, "file").attachments
        return
    with pytest.raises(InvalidInput) as refused:
        submit(field, "file")
    assert "hunter2" not in str(refused.value)


def test_submitted_table_names_files_below_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    written(tmp_path / "panel.json", "session")
    monkeypatch.chdir(tmp_path)
    agents = with_session_files({"ann": {"session": "panel.json"}, "bob": "echo"})
    assert (agents["ann"]["session"], agents["bob"]) == (SESSION, "echo")
    monkeypatch.chdir(tmp_path / "own")
    with pytest.raises(InvalidInput, match="must be a file below"):
        with_session_files({"ann": {"session": "../panel.json"}})


@pytest.mark.parametrize("named", ["session", "output_schema", "variant"])
def test_evaluation_names_files_below_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    other = str(
        written(tmp_path / "other" / "file.json", "session" if named == "session" else "output_schema")
    )
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    schema = {"output_schema": other}
    cases = {
        "name": "e",
        "session": other
        if named == "session"
        else {**SESSION, **(schema if named == "output_schema" else {})},
        "variants": {"a": schema if named == "variant" else {"stop": {"max_turns": 1}}},
        "cases": [{"message": "Hello."}],
        "scorers": [{"contains": "x"}],
    }
    with pytest.raises(InvalidInput, match="must be a file below"):
        CasesFile.of_data(cases)
    assert CasesFile.of_data(cases, root=tmp_path / "other").evaluation.name == "e"
