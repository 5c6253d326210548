"""Programs of any language review an item: they see its file, and their output is read."""

from __future__ import annotations

import json
import os
import sys

import pytest

from programs import find_node_program, find_program
from scaling import patient
from symposia.agents.kinds.command import CommandEntry
from symposia.agents.registry.agents_file import AgentsFile
from symposia.agents.registry.registry import Registry
from symposia.models.errors import AgentFailed
from symposia.models.sessions.options import AgentBinding
from symposia.reviews.reviewers.code import fence_text
from symposia.reviews.reviewers.program import run_on_item
from symposia.reviews.reviewers.spelling import MAX_REPLACEMENT, review_spelling
from symposia.reviews.values.answers import parse_reviewer_answer

#: A program that reports each line with TODO, as SARIF.
TODOS = """
import json, pathlib, sys
lines = pathlib.Path(sys.argv[1]).read_text().split("\\n")
results = [
    {"ruleId": "todo", "level": "note", "message": {"text": f"To do: {line}"},
     "locations": [{"physicalLocation": {"region": {"startLine": number}}}]}
    for number, line in enumerate(lines, 1) if "TODO" in line
]
print(json.dumps({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "todos"}}, "results": results}]}))
sys.exit(1 if results else 0)
"""
SCRIPT = "#!/bin/sh\n# TODO later\nrm $1\n"


@pytest.fixture
def review(runner, turn, message):
    """Return the findings of an agent about a file."""

    def findings(registry, name, text, path="bin/run.sh"):
        context = turn(
            messages=[message("bob", fence_text(text, "sh"))], parameters={"review": {"path": path}}
        )
        outcome = runner.run(registry.get_agent(AgentBinding(agent=name)), context, timeout_s=patient(50))
        return parse_reviewer_answer(outcome.messages[0].content, path=path, agent=name).findings

    return findings


@pytest.fixture
def todos(tmp_path):
    """A registry with the program as the agent `todos`."""
    program = tmp_path / "todos.py"
    program.write_text(TODOS)
    argv = ("{python}", "-m", "symposia.agents.reviewers.program", sys.executable, str(program), "{file}")
    return Registry(AgentsFile(agents={"todos": CommandEntry(kind="command", argv=argv)}))


def test_program_that_prints_sarif_reviews_a_file(review, todos):
    (one,) = review(todos, "todos", SCRIPT)
    assert (one.rule, one.start_line, one.severity, one.message) == ("todo", 2, "low", "To do: # TODO later")
    assert review(todos, "todos", "echo hello\n") == ()


def test_shellcheck_reviews_a_script(review):
    find_program("shellcheck")
    found = review(Registry(getenv=os.environ.get), "shellcheck", SCRIPT)
    assert [(it.rule, it.start_line) for it in found] == [("SC2086", 3)]
    assert review(Registry(getenv=os.environ.get), "shellcheck", "#!/bin/sh\necho hello\n") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The recieved\nmail is is seperate.\n", [(1, "The received"), (2, "mail is is separate.")]),
        ("Recieve it, registerd.\n", [(1, "Receive it, registerd."), (1, None)]),
        ('Ask Alice Teh, `teh`, "teh" or teh (the). We re-use it, see [teh](x.md).\n', []),
        ("```\nacces = 1\n```\n\nThe acces of <b class='teh'>all</b>: [x](teh.md)\n", []),
        ("Das ist der objekt oder als tabel " * 10 + "\n", []),
        ("Ce projet est un exemple.\n", []),
        ("Is it\u2028the\x0cend?\n\nThe recieved mail.\n", [(3, "The received mail.")]),
        (f"The recieved mail{' the' * MAX_REPLACEMENT}.\n", [(1, None)]),
    ],
    ids=["words", "choice", "names", "code", "language", "short", "separators", "long line"],
)
def test_codespell_reviews_the_prose_of_a_document(review, text, expected):
    find_program("codespell")
    found = review(Registry(getenv=os.environ.get), "codespell", text, "docs/a.md")
    assert {finding.rule for finding in found} <= {"misspelling"}
    assert [(finding.start_line, finding.replacement) for finding in found] == expected


@pytest.fixture
def run_codespell(tmp_path):
    """Return the answer about a document, with a shell script in the place of codespell."""

    def run(script, text):
        program = tmp_path / "codespell"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        messages = [{"content": fence_text(text, "md")}]
        turn = {"messages": messages, "parameters": {"review": {"path": "a.md"}}}
        return json.loads(review_spelling(turn, str(program)))

    return run


@pytest.mark.parametrize("script", ["exit 1", "echo 'usage: codespell'; exit 2", "echo 'usage: x'; exit 64"])
def test_broken_codespell_fails_the_turn(run_codespell, script):
    with pytest.raises(RuntimeError, match=f"codespell failed with exit code {script.split()[-1]}"):
        run_codespell(script, "It is.\n")


def test_misspelled_words_above_the_maximum_are_counted(run_codespell):
    script = "seq 600 | sed 's|.*|./text.txt:&: mial ==> mail|'; exit 65"
    answer = run_codespell(script, "The mial.\n" * 600)
    assert (len(answer["findings"]), answer["left_out"]) == (500, 100)


def test_eslint_reviews_a_script(review, monkeypatch):
    folder = os.path.dirname(find_node_program("eslint"))  # noqa: PTH120 - the link, not its target
    monkeypatch.setenv("PATH", folder + os.pathsep + os.environ["PATH"])
    found = review(
        Registry(getenv=os.environ.get), "eslint", 'const a = { x: 1, x: 2 };\neval("1");\n', "web/a.js"
    )
    assert [(it.rule, it.start_line) for it in found] == [("no-dupe-keys", 1), ("no-eval", 2)]


def test_missing_program_fails_the_turn(review):
    argv = ("{python}", "-m", "symposia.agents.reviewers.program", "no-such-program", "{file}")
    registry = Registry(AgentsFile(agents={"none": CommandEntry(kind="command", argv=argv)}))
    with pytest.raises(AgentFailed, match="no-such-program cannot be run"):
        review(registry, "none", SCRIPT)


@pytest.mark.parametrize(
    ("output", "code"), [("", 0), ("hello", 0), ("[]x", 1), ('{"a": 1}', 0), ('{"runs": []}', 3)]
)
def test_output_that_cannot_be_read_fails(turn, message, output, code):
    context = turn(messages=[message("bob", fence_text("x"))], parameters={"review": {"path": "a"}})
    argv = [sys.executable, "-c", f"print({output!r}); raise SystemExit({code})"]
    with pytest.raises(RuntimeError, match=f"failed with exit code {code}"):
        run_on_item(argv, context.model_dump(mode="json"))


def test_own_form_of_findings_is_passed_on(turn, message):
    context = turn(messages=[message("bob", fence_text("x"))], parameters={"review": {"path": "a"}})
    said = {"findings": [{"line": 1, "message": "x"}]}
    output = run_on_item(
        [sys.executable, "-c", f"print({json.dumps(said)!r})"], context.model_dump(mode="json")
    )
    assert json.loads(output)["findings"] == said["findings"]


def test_without_an_item_there_is_nothing_to_review(turn, message):
    context = turn(messages=[message("bob", fence_text("x"))])
    assert run_on_item(["no-such-program"], context.model_dump(mode="json")) == "PASS"


def test_name_of_a_file_is_no_option():
    show = "import json, sys; print(json.dumps({'findings': [{'line': 1, 'message': sys.argv[1]}]}))"
    messages = [{"content": fence_text("x = 1\n", "py")}]
    turn = {"messages": messages, "parameters": {"review": {"path": "--config=evil/a.py"}}}
    (finding,) = json.loads(run_on_item([sys.executable, "-c", show, "{file}"], turn))["findings"]
    assert finding["message"] == "./--config=evil/a.py"
