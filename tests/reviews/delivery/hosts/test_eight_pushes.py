"""Comments over eight pushes: other words, moved and edited lines, fixes, a force push, and people's answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from review_tools.pushes import Branch, Report
from servers.code_hosts.github import GitHub
from servers.code_hosts.gitlab import GitLab
from symposia.reviews.state.decisions import DecisionStore
from symposia.reviews.values.findings import Category, FindingStatus, Side
from symposia.state.redis.connect import connect

BASE = """\
def load(request):
    if not request.user.is_admin:
        raise PermissionError
    return request.body


def total(rows):
    result = 0
    for row in rows:
        result += row.price
    return result
"""
FIRST = """\
def load(request):
    value = eval(request.body)
    return value


def total(rows):
    result = 0
    for row in rows[1:]:
        result += row.price
    return result
"""
CHECK = "if not request.user.is_admin:"
EVAL = "value = eval(request.body)"
ROWS = "for row in rows[1:]:"


def check(words: str) -> Report:
    return Report(CHECK, words, Category.REMOVED_CHECK, side=Side.LEFT)


def evals(words: str, line: str = EVAL) -> tuple[Report, Report]:
    """A program and a model report one line."""
    program = Report(line, "Use of possibly insecure function `eval`", rule="S307")
    return program, Report(line, words, Category.INJECTION)


def rows(words: str, line: str = ROWS) -> Report:
    return Report(line, words, Category.WRONG_RESULT)


@pytest.fixture(params=[GitHub, GitLab])
def branch(request: pytest.FixtureRequest, redis_url: str) -> Iterator[Branch]:
    host = request.param()
    with connect(redis_url) as client:
        yield Branch(host, DecisionStore(client), BASE)
    host.close()


def test_comments_live_through_eight_pushes(branch: Branch) -> None:
    # 1: a removed check, one line that a program and a model report, and a wrong result
    branch.push(
        FIRST, check("Anybody may load"), *evals("Outside text is run"), rows("The first row is lost")
    )
    assert branch.states() == ["open"] * 3
    by_kind = {
        kind: at
        for at, body in enumerate(branch.bodies())
        for kind in ("removed-check", "S307", "wrong-result")
        if kind in body
    }
    removed, run, lost = (by_kind[kind] for kind in ("removed-check", "S307", "wrong-result"))
    assert "Reported by reviewer, ruff." in branch.bodies()[run]

    # 2: other words, and lines that moved
    second = '"""Orders."""\n\n' + FIRST
    branch.push(
        second,
        check("The permission is gone"),
        *evals("A request can execute code"),
        rows("Row 0 is left out"),
    )
    assert branch.states() == ["open"] * 3
    assert "The permission is gone" in branch.bodies()[removed]
    assert "Row 0 is left out" in branch.bodies()[lost]

    # 3: a review of the last push only, which looks at none of them
    third = f"{second}\n\ndef close(file):\n    open(file).read()\n"
    branch.push(third, *evals("")[:1], is_incremental=True)
    assert branch.states() == ["open"] * 3
    assert branch.last_status() == "failure"
    assert branch.host.statuses[-1][1]["description"].endswith("no findings; 3 earlier findings open")

    # 4: a person decides about the removed check; the word of an outsider does not count
    branch.answer(removed, "Not a bug: the proxy checks it.")
    branch.answer(lost, "Won't fix", is_trusted=False)
    leaks = Report("open(file).read()", "The file is not closed", Category.RESOURCE)
    branch.push(third, check("No admin is required"), *evals("x"), rows("y"), leaks)
    states = ["open"] * 4
    states[removed] = "suppressed+resolved"
    assert branch.states() == states
    (decision,) = branch.decisions.all()
    assert decision.verdict.value == "not a bug"
    assert decision.line == 2

    # 5: the eval is fixed
    fifth = third.replace("eval(request.body)", "json.loads(request.body)")
    branch.push(fifth, check("z"), rows("One row is missing"), leaks)
    states[run] = "gone+resolved"
    assert branch.states() == states

    # 6: a force push onto a newer base; the host loses every line
    base = "import json\n\n" + BASE
    sixth = "import json\n\n" + fifth
    run_of_six = branch.push(
        sixth, check("The check is gone"), rows("Sum without first row"), leaks, is_forced=True, base=base
    )
    assert branch.states() == states
    assert "Sum without first row" in branch.bodies()[lost]
    assert [finding.category for finding in run_of_six.open_findings] == [
        Category.WRONG_RESULT,
        Category.RESOURCE,
    ]

    # 7: the wrong line is edited and still wrong; a person resolves the other thread
    other = ({0, 1, 2, 3} - {removed, run, lost}).pop()
    branch.resolve(other)
    seventh = sixth.replace("rows[1:]", "rows[1:-1]")
    branch.push(seventh, check("u"), rows("Two rows are lost", "for row in rows[1:-1]:"), leaks)
    states[other] = "suppressed+resolved"
    assert branch.states() == states
    assert "Two rows are lost" in branch.bodies()[lost]
    assert {stored.verdict.value for stored in branch.decisions.all()} == {"not a bug", "resolved"}

    # 8: the sum is fixed, the eval is back, and a decision was forgotten
    branch.decisions.forget(decision.id)
    eighth = seventh.replace("rows[1:-1]", "rows").replace("json.loads(request.body)", "eval(request.body)")
    last = branch.push(eighth, check("It is still gone"), *evals("It runs the request"), leaks)
    states[removed], states[run], states[lost] = "open", "open", "gone+resolved"
    assert branch.states() == states
    assert branch.last_status() == "failure"
    (summary,) = branch.summaries()
    assert "Risk: " in summary
    assert "Changed files: 1" in summary

    # A repeated delivery changes nothing.
    changes = branch.host.changes
    branch.deliver(last)
    assert branch.host.changes == changes
    assert [finding.status for finding in last.findings if not finding.is_open].count(
        FindingStatus.SUPPRESSED
    ) == 1


def test_comment_on_a_removed_line_is_gone_after_all_removed_lines_were_shown(branch: Branch) -> None:
    branch.push(FIRST, check("Anybody may load"))
    branch.push(f"{FIRST}\n# The proxy checks it.\n")
    assert (branch.states(), branch.last_status()) == (["gone+resolved"], "success")
