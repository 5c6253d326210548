"""Commands on all sessions that match: `list` with filters, and `cancel`, `suspend`, `resume` and `retry`."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import pytest

from processes.terminal import Terminal
from symposia.jobs.collab import CollabJob
from symposia.models.errors import RedisUnavailable


class Keyboard(StringIO):
    """A terminal on which somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def press(terminal: Terminal, pair_file: str) -> list[str]:
    """Three sessions of a tenant, and one of another."""
    text = (terminal.folder / "pair.yaml").read_text()
    for name, tenant in (("a", "press"), ("b", "press"), ("c", "press"), ("d", "shop")):
        (terminal.folder / f"{name}.yaml").write_text(
            text.replace("A line", f"Line {name}") + f"tenant: {tenant}\n"
        )
    ids = [terminal.call("submit", str(terminal.folder / f"{name}.yaml")).out.strip() for name in "abcd"]
    return ids[:3]


def listed(terminal: Terminal, *filters: str) -> list[str]:
    return [row["title"][5] for row in terminal.call("list", *filters, "--json").json()]


def test_sessions_are_listed_by_filters_and_in_an_order(terminal: Terminal, press: list[str]) -> None:
    assert listed(terminal, "--tenant", "press", "--sort", "title") == ["a", "b", "c"]
    assert listed(terminal, "--agent", "echo", "--status", "active,failed") == ["d", "c", "b", "a"]
    assert listed(terminal, "--text", "LINE B") == ["b"]
    assert listed(terminal, "--since", "1h", "--sort", "duration", "--limit", "1") == ["a"]
    assert listed(terminal, "--older", "1h") == listed(terminal, "--status", "failed") == []
    assert press[0][:8] in terminal.call("list", "--sort", "cost").out


def test_list_says_why_sessions_do_not_move(terminal: Terminal, press: list[str]) -> None:
    assert listed(terminal, "--attention", "worker,stuck", "--tenant", "press") == ["c", "b", "a"]
    assert listed(terminal, "--attention", "lost,retry") == []
    said = terminal.call("list", "--attention", "worker", "--text", "line a")
    line = f"{press[0][:8]} no worker: the next step waits for a worker; it goes on when a worker starts"
    assert said.out.splitlines()[-1] == line
    (row,) = terminal.call("list", "--text", "line a", "--json").json()
    assert (row["attention"], row["badge"]) == ("worker", "no worker")
    planned = terminal.call("cancel", "--attention", "worker", "--tenant", "shop", "--dry-run")
    assert planned.out.endswith("1 session would be cancelled; nothing was changed.\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--tenant", "press"), "3 sessions (all sessions, live and recently ended, without an archive)."),
        (("--limit", "2"), "2 sessions (all sessions, live and recently ended, without an archive); more"),
        (("--limit", "4"), "4 sessions (all sessions, live and recently ended, without an archive)."),
        (("--since", "2100-01-31", "--attention", "lost"), "No sessions (opened since 2100-01-31, live"),
        (("--since", "2100-01-31", "--participant", "nobody"), "No sessions (opened since 2100-01-31, live"),
        (("--since", "1h", "--status", "failed"), "No sessions (opened in the last 60 minutes, live"),
        (("--group", "tenant", "--until", "2020-01-31"), "No groups (opened before 2020-01-31, live"),
        (
            ("--since", "2100-01-31", "--text", "line"),
            "4 older sessions have not ended: symposia list --text line --status draft,active,suspended",
        ),
    ],
)
def test_list_says_what_it_covers(
    terminal: Terminal, press: list[str], arguments: tuple[str, ...], line: str
) -> None:
    assert terminal.call("list", *arguments).err.splitlines()[-1].startswith(line)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("list", "--status", "odd"), "--status: must be one of draft"),
        (("list", "--sort", "odd"), "--sort: must be one of activity"),
        (("list", "--attention", "odd"), "--attention: must be one of person"),
        (("list", "--group", "odd"), "--group: must be one of agent"),
        (("list", "--group", "tag", "--participant", "ann"), "--participant: must not be given with --group"),
        (("search", "word", "--attention", "stuck"), "--attention: must not be given"),
        (("list", "--older", "1d", "--until", "2d"), "--older: must not be given with --until"),
        (("cancel",), "ID: must be given, or a filter"),
        (("cancel", "12345678", "--tenant", "press"), "ID: must not be given with filters"),
        (("cancel", "--tenant", ""), "--tenant: must not be empty"),
        (("cancel", "--status", "completed"), "--status: must be of sessions that `symposia cancel` is for"),
        (("cancel", "--text", "line"), "--yes: must be given to cancel 4 sessions without a terminal"),
    ],
)
def test_wrong_choices_change_nothing(
    terminal: Terminal, press: list[str], arguments: tuple[str, ...], line: str
) -> None:
    said = terminal.call(*arguments)
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith(f"symposia: {line}")
    assert len(listed(terminal, "--status", "active")) == 4


def test_all_that_match_are_changed(terminal: Terminal, press: list[str]) -> None:
    planned = terminal.call("suspend", "--tenant", "press", "--dry-run")
    assert planned.out.endswith("3 sessions would be suspended; nothing was changed.\n")
    assert listed(terminal, "--status", "suspended") == []
    assert terminal.call("suspend", "--tenant", "press", "--yes").out == "3 of 3 sessions suspended.\n"
    assert listed(terminal, "--status", "suspended") == ["c", "b", "a"]
    answer = terminal.call("resume", "--text", "line a", "--yes", "--json").json()
    assert (answer["resumed"], answer["failed"], answer["dry_run"]) == ([press[0]], [], False)
    said = terminal.call("cancel", "--since", "1h", "--yes", "--reason", "wrong question")
    assert (said.code, said.out) == (0, "4 of 4 sessions cancelled.\n")
    rows = terminal.call("list", "--status", "cancelled", "--json").json()
    assert {(row["shown"], row["reason"]) for row in rows} == {("cancelled", "wrong question")}
    assert "No session matches" in terminal.call("cancel", "--since", "1h", "--yes").err


@pytest.mark.parametrize(("answer", "code", "left"), [("n\n", 1, 4), ("y\n", 0, 1)])
def test_a_person_is_asked(
    terminal: Terminal,
    press: list[str],
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    left: int,
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard(answer))
    said = terminal.call("cancel", "--tenant", "press")
    assert said.code == code
    assert "Cancel 3 sessions?" in said.err
    assert len(listed(terminal, "--status", "active")) == left


def test_each_failure_is_named(terminal: Terminal, press: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cancel = CollabJob.cancel

    def fail_once(job: CollabJob, reason: str, *, by: str) -> None:
        if job.id == press[1]:
            raise RedisUnavailable("redis://lost", hint="gone")
        cancel(job, reason, by=by)

    monkeypatch.setattr(CollabJob, "cancel", fail_once)
    said = terminal.call("cancel", "--tenant", "press", "--yes")
    assert (said.code, said.out) == (1, "2 of 3 sessions cancelled, 1 failed.\n")
    assert said.err.startswith(f"{press[1]}: ")
    assert listed(terminal, "--status", "active") == ["d", "b"]


@pytest.mark.long
@pytest.mark.parametrize("then", ["abort", "skip"])
def test_failed_sessions_are_retried(busy: Terminal, pair_file: str, then: str) -> None:
    path = Path(pair_file)
    failing = path.read_text().replace("agent: echo", "agent: moody")
    path.write_text(f"{failing}\nparameters: {{fails: 2}}\npolicy: {{attempts: 1, then: {then}}}\n")
    session = busy.call("submit", pair_file).out.strip()
    assert busy.call("watch", session).code == 1
    mine = ("--error", "MOOD", "--thread", session)
    (row,) = busy.call("list", "--status", "failed", *mine, "--json").json()
    assert (row["id"], row["status"], row["shown"]) == (session, "cancelled", "failed")
    (group,) = busy.call("list", "--group", "agent", *mine, "--json").json()
    assert (group["name"], group["sessions"], group["failed"]) == ("moody", 1, 1)
    assert busy.call("cancel", *mine, "--yes").err.startswith("No session matches")
    assert busy.call("retry", *mine, "--yes").out == "1 of 1 session retried.\n"
    new, _ = busy.call("list", "--thread", session, "--json").json()
    assert f"fork of {session} before turn 1" in busy.call("show", new["id"]).out
