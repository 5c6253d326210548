"""Session files that name session files: their content is part of the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from symposia.jobs.session_file import SessionFile, read_session_document
from symposia.models.errors import InvalidInput

HEAD = "title: {0}\npurpose: see\nmode: round_robin\nparticipants:\n"


@pytest.fixture
def write(tmp_path):
    def write(name, *participants):
        rows = "".join(f"  - {{participant_id: p{i}, {it}}}\n" for i, it in enumerate(participants))
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(HEAD.format(name) + rows)
        return str(tmp_path / name)

    return write


def test_files_are_relative_to_the_file_that_names_them(write):
    write("teams/inner.yaml", "agent: echo")
    write("teams/panel.yaml", "session: inner.yaml", "agent: {session: inner.yaml}")
    submission = SessionFile.open(write("outer.yaml", "session: teams/panel.yaml")).submission()
    panel = submission.agents["p0"].session
    inside = [it.get("session") or it["agent"]["session"] for it in panel["participants"]]
    assert [it["title"] for it in inside] == ["teams/inner.yaml"] * 2
    assert submission.agents["p0"].agent == "session"


def test_files_must_not_contain_themselves(write):
    write("b.yaml", "session: a.yaml")
    path = write("a.yaml", "session: b.yaml")
    for read in (lambda: SessionFile.open(path).submission(), lambda: read_session_document(Path(path))):
        with pytest.raises(InvalidInput, match=r"must not contain itself: a\.yaml -> b\.yaml -> a\.yaml"):
            read()


@pytest.mark.parametrize(
    ("participant", "rule"),
    [
        ("session: none.yaml", r"none\.yaml: cannot be read"),
        ("session: 7", r"participants\[0\]\.session: must be a session file"),
        ("session: {tenant: acme}", "tenant: must not be set in a sub-session"),
        ("session: {owner: ann}", "owner: must not be set in a sub-session"),
        ("session: {draft: true}", "draft: must not be set in a sub-session"),
        ("session: {title: x}, agent: echo", "must be set without `agent`"),
    ],
)
def test_wrong_sub_session_gets_one_clear_line(write, participant, rule):
    with pytest.raises(InvalidInput, match=rule) as caught:
        SessionFile.open(write("outer.yaml", participant)).submission()
    assert "\n" not in str(caught.value)
