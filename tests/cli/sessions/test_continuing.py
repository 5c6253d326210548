"""`symposia continue`, `fork` and `list --thread`."""

from __future__ import annotations


def test_a_thread_is_continued_forked_and_listed(busy, spoken):
    continued = busy.call("continue", spoken[:8], "And now?", "--json").json()
    assert continued["thread_id"] == spoken
    forked = busy.call("fork", spoken, "--at-turn", "2", "--instruct", "bob=Be brief.").out.strip()
    for session in (continued["id"], forked):
        assert busy.call("watch", session).code == 0
    assert f"continues: {spoken}" in busy.call("show", continued["id"]).out
    assert f"fork of {spoken} before turn 2" in busy.call("show", forked).out
    for session in (spoken, forked):
        listed = busy.call("list", "--thread", session, "--json").json()
        assert [it["id"] for it in listed] == [forked, continued["id"], spoken]


def test_bad_arguments_get_one_line(busy, spoken):
    cases = [
        (("fork", spoken, "--at-turn", "99"), "at_turn: must be the number of a turn, 1 to 4"),
        (("fork", spoken, "--at-turn", "1", "--instruct", "bob"), "--instruct: must be NAME=VALUE"),
        (
            ("fork", spoken, "--at-turn", "1", "--agent", "zed=echo"),
            "agents: must be the id of a participant",
        ),
        (("continue", spoken, " "), "text: must not be blank"),
        (("continue", spoken, "x", "--agent", "zed=echo"), "agents: must be the id of a participant"),
    ]
    for arguments, line in cases:
        said = busy.call(*arguments)
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert line in said.err


def test_a_running_session_is_not_continued(busy, gated_file):
    session = busy.call("submit", gated_file).out.strip()
    said = busy.call("continue", session, "And now?")
    assert said.code == 2
    assert "continues: must be the id of a session that has ended" in said.err
    busy.call("cancel", session)
