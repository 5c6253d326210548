"""The shipped code reviewers: they review only the code in the messages."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling import patient
from symposia.agents.registry.registry import Registry
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.options import AgentBinding
from symposia.models.turns.items import WorkItem
from symposia.models.turns.turn import Expects
from symposia.reviews.reviewers.code import extract_code, fence_text, fenced_blocks, review_turn

CLEAN = "Here it is:\n```python app.py\nprint('hello')\n```\nAll done."
WASTEFUL = "```python app.py\nimport os\n\nprint('hello')\n```"
RISKY = "```py\nimport subprocess, sys\n\nsubprocess.call(sys.argv[1], shell=True)\n```"


@pytest.fixture
def review(runner, turn, message):
    """Return the answer of a reviewer to a dialog, as the navigator of a pair."""

    def said(name, *texts, **more):
        for tool in ("ruff", "bandit") if name == "inspector" else (name,):
            if find_spec(tool) is None:
                pytest.skip(f"{tool} is not installed")
        messages = [message("bob", text) for text in texts]
        context = turn(**{"mode": CollabMode.PAIR, "expects": Expects.REVIEW, "messages": messages, **more})
        outcome = runner.run(Registry().get_agent(AgentBinding(agent=name)), context, timeout_s=patient(50))
        return outcome.messages[0].content

    return said


def test_ruff_reports_line_and_rule(review):
    assert review("ruff", WASTEFUL) == (
        "ruff found 1 to fix:\n- app.py:1: F401 `os` imported but unused (medium)"
    )


def test_options_of_the_agents_file_reach_the_tool(turn, message):
    context = turn(messages=[message("bob", WASTEFUL)])
    said = review_turn("ruff", context.model_dump(mode="json"), ["--select=D100"])
    assert said == "ruff found 1 to fix:\n- app.py:1: D100 Missing docstring in public module (low)"


def test_severe_finding_after_many_others_is_listed(review):
    many = "".join(f"import m{n}\n" for n in range(250)) + "print(undefined_name)\n"
    said = json.loads(
        review("ruff", f"```python app.py\n{many}```", parameters={"review": {"path": "app.py"}})
    )
    assert (len(said["findings"]), said["left_out"]) == (200, 51)
    assert (said["findings"][-1]["rule"], said["findings"][-1]["line"]) == ("F821", 251)


@pytest.mark.parametrize("name", ["ruff", "bandit"])
def test_code_without_findings_is_accepted(review, name):
    assert review(name, CLEAN) == f"APPROVED: {name} found nothing to fix in app.py"


def test_bandit_reports_risk_and_severity(review):
    said = review("bandit", RISKY)
    assert "block1.py:3: B602 " in said
    assert "(high)" in said


def test_without_code_there_is_nothing_to_review(review):
    assert review("ruff", "I have not begun yet.") == "PASS"


def test_reviewer_approves_nothing_outside_a_review(review):
    assert not review("ruff", CLEAN, expects=Expects.MESSAGE).startswith("APPROVED")


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (CLEAN, ["app.py"]),
        ("```python\nx\n```\nand\n```py\ny\n```", ["block1.py", "block2.py"]),
        ("```\nplain\n```", []),
        ("```sh\nrm -rf /\n```", []),
        ("```python never closed\nx", []),
        ("```python /etc/../secret/app.py\nx\n```", ["app.py"]),
        ("```python ../../etc/passwd\nx\n```", ["block1.py"]),
        ("```python $(touch x).py\nx\n```", ["block1.py"]),
    ],
)
def test_only_fenced_python_is_code(turn, message, text, files):
    assert sorted(extract_code(turn(messages=[message("bob", text)]).model_dump(mode="json"))) == files


def test_newest_code_counts_and_a_work_item_before_it(turn, message):
    messages = [message("bob", CLEAN), message("cleo", RISKY), message("bob", "what do you think?")]
    assert "subprocess" in extract_code(turn(messages=messages).model_dump(mode="json"))["block1.py"]
    item = WorkItem(item_id="1", text=WASTEFUL)
    assert "import os" in extract_code(turn(messages=messages, item=item).model_dump(mode="json"))["app.py"]


@pytest.fixture
def found(review):
    """The findings of a reviewer in a batch review."""

    def found(name, text, **more):
        return json.loads(review(name, text, parameters={"review": {"item": 1, **more}}))["findings"]

    return found


def test_in_a_batch_review_findings_are_data(found):
    assert found("ruff", WASTEFUL) == [
        {
            "line": 1,
            "end_line": 1,
            "rule": "F401",
            "severity": "medium",
            "message": "`os` imported but unused",
            "suggestion": "Remove unused import: `os`",
            "confidence": 1.0,
        }
    ]
    (shell,) = (it for it in found("bandit", RISKY) if it["rule"] == "B602")
    assert (shell["line"], shell["severity"], shell["confidence"]) == (3, "high", 0.9)


def test_batch_review_of_clean_code_has_no_findings(found):
    assert found("ruff", CLEAN) == found("bandit", CLEAN) == []


def test_inspector_runs_both_tools(found):
    rules = {it["rule"] for it in found("inspector", "```python\nimport os, pickle\nx = eval('1')\n```")}
    assert rules >= {"F401", "B307"}


def test_bandit_allows_asserts_in_tests(found):
    body = "def test_it():\n    assert 1\n    eval('1')\n"
    settings = {"bandit": {"severity": "low"}}
    for name, rules in (("test_app.py", {"B307"}), ("conftest.py", {"B307"}), ("app.py", {"B101", "B307"})):
        said = found("bandit", f"```python\n{body}```", path=name, settings=settings)
        assert {it["rule"] for it in said} == rules


def test_bandit_reports_medium_severity_without_settings(found):
    body = "import pickle\n\nassert pickle\neval('1')\n"
    assert {it["rule"] for it in found("bandit", f"```python\n{body}```")} == {"B307"}


def test_bandit_applies_the_settings_of_the_project(found):
    def rules(path, **table):
        said = found("bandit", "```python\neval('1')\n```", path=path, settings={"bandit": table})
        return [it["rule"] for it in said]

    assert rules("lib/a.py", tests=["B102"]) == rules("lib/a.py", skips=["B307"]) == []
    assert rules("tests/a.py", exclude_dirs=["tests"]) == []
    assert rules("lib/a.py", exclude_dirs=["tests"]) == ["B307"]


def test_ruff_applies_the_settings_of_the_project(found):
    def rules(path, text, **table):
        files = {"lib/ruff.toml": table}
        said = found("ruff", f"```python\n{text}```", path=path, settings={"ruff": files})
        return [it["rule"] for it in said]

    lint = {"select": ["F", "E501", "RUF100"], "per-file-ignores": {"old/*.py": ["F401"]}}
    text = f"import os  # {'x' * 80}\nimport re  # noqa: F401, E711\n"
    assert rules("lib/a.py", text, lint=lint) == ["E501", "F401", "RUF100"]
    assert "F401" not in rules("lib/old/a.py", text, lint=lint)
    assert rules("lib/a.py", text, lint={**lint, "ignore": ["F401"]}, **{"line-length": 120}) == ["RUF100"]
    assert rules("lib/gone/a.py", text, exclude=["gone"]) == []


def test_ruff_knows_the_modules_of_the_project(found):
    text = "import pytest\n\nfrom shop.till import close\n\nprint(pytest, close)\n"
    lint = {"ruff": {"ruff.toml": {"lint": {"select": ["I"]}}}}
    known = lint | {"modules": ["src/shop/till.py"]}
    for settings, rules in ((lint, ["I001"]), (known, [])):
        said = found("ruff", f"```python\n{text}```", path="tests/test_a.py", settings=settings)
        assert [it["rule"] for it in said] == rules


def test_wrong_settings_fail_with_the_error_of_the_tool(turn, message):
    settings = {"ruff": {"ruff.toml": {"line-length": "wide"}}}
    context = turn(
        messages=[message("bob", WASTEFUL)], parameters={"review": {"path": "a.py", "settings": settings}}
    )
    with pytest.raises(RuntimeError, match="ruff failed with exit code 2"):
        review_turn("ruff", context.model_dump(mode="json"))


def test_only_the_item_is_reviewed_in_a_batch_review(review):
    said = review("ruff", CLEAN, WASTEFUL, parameters={"review": {"item": 1, "path": "app.py"}})
    assert json.loads(said)["findings"] == []


def test_syntax_error_is_a_finding_of_high_severity(found):
    assert {it["severity"] for it in found("ruff", "```python\ndef (:\n```")} == {"high"}


@pytest.mark.parametrize("name", ["json", "ast", "bandit", "ruff", "sitecustomize"])
def test_code_named_like_a_module_is_not_run(found, tmp_path, name):
    trap = tmp_path / "ran"
    code = f"import pathlib\npathlib.Path({str(trap)!r}).touch()\n"
    for tool in ("ruff", "bandit"):
        found(tool, fence_text(code, f"python {name}.py"))
    assert not trap.exists()


def test_code_that_contains_fences_is_read_whole(found):
    text = 'import os\n\nHELP = """\n```\nx\n```\n"""\nimport sys\n'
    assert [it["line"] for it in found("ruff", fence_text(text, "python")) if it["rule"] == "F401"] == [1, 8]


def test_findings_depend_only_on_the_code(found):
    code = '"""A package."""\n\nfrom os import path as _path  # noqa: PLC2701\n\nHERE = _path.curdir\n'
    assert found("ruff", fence_text(code, "python __init__.py")) == []


def test_import_order_is_not_reported(found):
    code = "import pytest\n\nfrom house.rooms import kitchen\n\n\n@pytest.fixture\ndef cook():\n    return kitchen\n"
    assert found("ruff", fence_text(code, "python")) == []


lines = st.text(alphabet=st.sampled_from("`~ax \t\n"), max_size=60)


@given(text=lines, before=st.sampled_from(["", "Look at this:\n"]))
def test_any_text_is_read_back_as_it_was(text, before):
    ((info, body),) = fenced_blocks(f"{before}{fence_text(text, 'python app.py')}\nThat is all.")
    assert (info, body) == ("python app.py", text if text.endswith("\n") else f"{text}\n")


def test_unclosed_block_is_ignored():
    assert list(fenced_blocks("```python\nx")) == []
    assert list(fenced_blocks("````\n```\nx\n```")) == []


def test_several_blocks_are_returned_in_order():
    assert list(fenced_blocks("```a\n1\n```\ntext\n~~~\n```b\n2\n```")) == [("a", "1\n"), ("b", "2\n")]
