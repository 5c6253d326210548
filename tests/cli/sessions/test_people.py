"""People at the command line: they see what they are asked, and answer."""

from __future__ import annotations

import os
import pty
import re
import shlex
from pathlib import Path

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
    assert "   1 ann        Write one line that stands above the door." in said.out
    assert re.search(r"within 6 days \(until \w{3} \d+ \w{3} \d{4}, \d\d:\d\d \w+\)", said.out)
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


@pytest.fixture
def file(tmp_path):
    (tmp_path / "session.yaml").write_text(SESSION)
    return str(tmp_path / "session.yaml")


def test_run_asks_the_only_person_and_reads_lines(busy, file):
    """A blank line is no answer."""
    said = busy.run("run", file, stdin="Shorter, please.\n\nAPPROVED: fine\n")
    assert (said.code, "completed: approved (fine)" in said.out) == (0, True), said
    assert "Shorter, please." in said.out
    assert said.err.count("editor is asked in turn") == 2


def test_an_answer_that_is_refused_is_asked_again(busy, file):
    said = busy.run("run", file, stdin=f"{'x' * 2_000_000}\nAPPROVED: fine\n")
    assert (said.code, said.err.count("Type another answer:")) == (0, 1), said


@pytest.mark.parametrize("is_file_read_from_input", [False, True])
def test_end_of_input_leaves_the_question_open(busy, file, is_file_read_from_input):
    with Path(file if is_file_read_from_input else os.devnull).open("rb") as given:
        source = "-" if is_file_read_from_input else file
        running = busy.start("run", source, stdin=given.fileno()).until("Standard input has ended")
    running.until("symposia reply")  # it is printed after that line
    (command,) = [line for line in running.err.splitlines() if "symposia reply" in line]
    assert busy.call(*shlex.split(command.replace("TEXT", "APPROVED:"))[1:]).code == 0
    assert running.ended().code == 0


def test_person_types_at_the_terminal_and_leaves(busy, file):
    typing, terminal = pty.openpty()
    running = busy.start("run", file, "--as", "editor", stdin=terminal).until("Type the answer of editor")
    os.write(typing, b"Shorter, please.\n")
    running.until("is asked in turn 4")
    said = running.interrupt().ended()
    (session,) = re.findall(r"To cancel it: symposia cancel (\S+)", said.err)
    assert (said.code, busy.call("cancel", session).code) == (130, 0)


def test_only_the_named_person_is_asked(busy, file, tmp_path):
    said = busy.call("run", file, "--as", "nobody")
    assert (
        said.code,
        "--as: must be a participant, an approver or an observer: ann, editor" in said.err,
    ) == (2, True)
    path = tmp_path / "two.yaml"
    path.write_text(SESSION.replace("agent: echo", "kind: human"))
    running = busy.start("run", str(path), "--as", "editor", stdin=os.open(os.devnull, os.O_RDONLY))
    running.until("waiting for an answer from ann")
    session = busy.call("inbox", "-p", "ann", "--limit", "1000", "--json").json()[-1]["session_id"]
    assert "is asked" not in running.err
    busy.call("reply", session, "ann", "A line.")
    running.until("editor is asked in turn 2")
    busy.call("cancel", session)
    running.ended()
