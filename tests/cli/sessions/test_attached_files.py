"""`symposia run --attach`, `post --attach`, and `symposia attachments`."""

from __future__ import annotations

import pytest

from processes.terminal import Terminal

TEXT = """\
title: Files
purpose: Look at them.
mode: pair
messages: ["Here they are."]
attachments: [notes.txt]
participants: [{participant_id: ann, agent: echo}, {participant_id: bob, agent: echo}]
"""


@pytest.fixture
def session(terminal: Terminal) -> str:
    """A session with two files in its first message, and one in the next."""
    (terminal.folder / "talk.yaml").write_text(TEXT)
    (terminal.folder / "notes.txt").write_text("notes")
    (terminal.folder / "a.png").write_bytes(b"\x00\xff")
    (terminal.folder / "more").mkdir()
    (terminal.folder / "more" / "notes.txt").write_text("more notes")
    said = terminal.call("submit", "talk.yaml", "--attach", "a.png")
    assert said.code == 0, said.err
    session = said.out.strip()
    posted = terminal.call("post", session, "More.", "--attach", "more/notes.txt")
    assert posted.code == 0, posted.err
    terminal.call("cancel", session)
    return session


def test_files_are_listed(terminal: Terminal, session: str):
    lines = [line.split() for line in terminal.call("attachments", session).out.splitlines()]
    assert lines[0] == ["NAME", "TYPE", "SIZE", "SHA256"]
    assert [line[:4] for line in lines[1:]] == [
        ["notes.txt", "text/plain", "5", "bytes"],
        ["a.png", "image/png", "2", "bytes"],
        ["notes.txt", "text/plain", "10", "bytes"],
    ]
    listed = terminal.call("attachments", session, "a.png", "--json").json()
    assert [(it["name"], it["size"]) for it in listed["attachments"]] == [("a.png", 2)]


def test_show_names_the_files(terminal: Terminal, session: str):
    shown = terminal.call("show", session).out
    assert "[a.png, image/png, 2 bytes]" in shown
    exported = terminal.call("export", session, "--format", "openai").json()
    assert "[Attached file: a.png (image/png, 2 bytes)]" in str(exported)


def test_saved_files_have_their_content_and_different_names(terminal: Terminal, session: str):
    saved = terminal.call("attachments", session, "--save", "out")
    assert saved.code == 0, saved.err
    written = {it.name: it.read_bytes() for it in (terminal.folder / "out").iterdir()}
    assert sorted(written.values()) == [b"\x00\xff", b"more notes", b"notes"]
    assert {"notes.txt", "a.png"} < written.keys()


def test_existing_files_and_links_are_not_overwritten(terminal: Terminal, session: str):
    out, elsewhere = terminal.folder / "out", terminal.folder / "elsewhere"
    out.mkdir()
    (out / "a.png").symlink_to(elsewhere)
    refused = terminal.call("attachments", session, "a.png", "--save", "out")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "exists already; --force replaces it" in refused.err
    assert terminal.call("attachments", session, "a.png", "--save", "out", "--force").code == 0
    assert (out / "a.png").read_bytes() == b"\x00\xff"
    assert not elsewhere.exists()


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("attachments", "SESSION", "other.txt"), "must be the name of an attachment of the session"),
        (("attachments", "SESSION", "--save", "notes.txt"), "cannot be written"),
        (("attachments", "SESSION", "--force"), "needs --save FOLDER"),
        (("submit", "talk.yaml", "--attach", "missing.txt"), "cannot be read: No such file"),
        (("submit", "talk.yaml", "--attach", "more"), "must be a file"),
        (("submit", "talk.yaml", *("--attach", "a.png") * 20), "must be at most 20 for one message"),
    ],
)
def test_bad_input_gets_one_line(terminal: Terminal, session: str, arguments, rule):
    said = terminal.call(*(session if it == "SESSION" else it for it in arguments))
    assert said.code == 2
    assert rule in " ".join(said.err.split())


def test_paths_do_not_depend_on_inputs(terminal: Terminal):
    text = TEXT.replace("[notes.txt]", '["{file}"]') + "inputs: [{name: file}]\n"
    (terminal.folder / "talk.yaml").write_text(text)
    (terminal.folder / "secret").write_text("secret")
    said = terminal.call("submit", "talk.yaml", "--set", "file=secret")
    assert said.code == 2
    assert "{file}" in said.err
