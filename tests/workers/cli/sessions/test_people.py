"""People at the command line: they see what they are asked, and answer."""

from __future__ import annotations

import shlex

import pytest

from live import until

pytestmark = pytest.mark.long

SESSION = """
title: A line above the door
purpose: Write one line that stands above the door.
mode: pair
participants:
  - {participant_id: ann, agent: echo}
  - {participant_id: editor, kind: human, display_name: The Editor}
stop: {max_rounds: 5}
"""


@pytest.fixture
def session(busy, tmp_path):
    """The id of a session that waits for its editor."""
    path = tmp_path / "session.yaml"
    path.write_text(SESSION)
    session = busy.call("submit", str(path)).out.strip()
    until(lambda: _questions(busy, session))
    return session


def _questions(terminal, session):
    found = terminal.call("inbox", "--participant", "editor", "--limit", "1000", "--json").json()
    return [question for question in found if question["session_id"] == session]


def test_inbox_names_the_person_and_the_reply_command(busy, session):
    said = busy.call("inbox", "-p", "editor", "--limit", "1000")
    assert said.code == 0
    assert f"editor is asked in turn 2 of session {session[:8]} (A line above the door)" in said.out
    assert f"symposia reply {session[:8]} editor TEXT --turn 2" in said.out
    (question,) = _questions(busy, session)
    assert (question["expects"], question["is_own"], question["asked"]) == ("review", True, ["editor"])


def test_reply_command_is_quoted_for_the_shell(busy, tmp_path):
    name = "$(id) o'ben"
    path = tmp_path / "session.yaml"
    path.write_text(SESSION.replace("participant_id: editor", f'participant_id: "{name}"'))
    session = busy.call("submit", str(path)).out.strip()

    def hints():
        lines = busy.call("inbox", "-p", name, "--limit", "1000").out.splitlines()
        return [line for line in lines if f"reply {session[:8]}" in line]

    (hint,) = until(hints)
    assert shlex.split(hint)[2:] == [session[:8], name, "TEXT", "--turn", "2"]
    busy.call("cancel", session)


def test_reply_command_names_the_question_of_an_agent(busy, tmp_path):
    """The agent may ask another question in the same turn."""
    path = tmp_path / "session.yaml"
    asks = "agent: {agent: echo, parameters: {replies: ['ASK editor: May I?']}}"
    path.write_text(SESSION.replace("agent: echo", asks))
    session = busy.call("submit", str(path)).out.strip()
    (question,) = until(lambda: _questions(busy, session))
    said = busy.call("inbox", "-p", "editor", "--limit", "1000").out
    assert f"symposia reply {session[:8]} editor TEXT --token {question['reply_token']}" in said
    busy.call("cancel", session)


def test_empty_inbox_is_reported(busy):
    said = busy.call("inbox", "--participant", "nobody")
    assert (said.code, said.out, said.err.strip()) == (0, "", "No open questions.")


def test_reply_continues_the_session(busy, session):
    said = busy.call("reply", session, "editor", "APPROVED: reads well")
    assert (said.code, said.out.strip()) == (0, f"Session {session}: answer of editor accepted.")
    watched = busy.call("watch", session)
    assert watched.code == 0
    assert "waiting for an answer from The Editor" in watched.out
    assert "APPROVED: reads well" in watched.out
    assert not _questions(busy, session)


def test_an_answer_may_come_from_standard_input(busy, session):
    said = busy.run("reply", session, "editor", "-", "--json", stdin="APPROVED: fine\n")
    assert said.json() == {"id": session, "status": said.json()["status"], "participant": "editor"}
    assert busy.call("watch", session).code == 0


def test_unexpected_answer_is_refused_in_one_line(busy, session):
    (question,) = _questions(busy, session)
    for arguments, why in (
        (("nobody", "x"), "there is no open question for this participant"),
        (("editor", "x", "--token", "another"), "the reply token does not match the question"),
        (("editor", " "), "text: must not be blank; answer PASS to pass (got ' ')"),
    ):
        said = busy.call("reply", session, *arguments)
        assert said.code == 2
        assert why in said.err
        assert said.err.count("\n") == 1
    assert busy.call("reply", session, "editor", "APPROVED:", "--token", question["reply_token"]).code == 0
    assert busy.call("watch", session).code == 0


def test_show_marks_a_parked_turn(busy, session):
    assert "The Editor (parked)" in busy.call("show", session).out
    busy.call("cancel", session)
