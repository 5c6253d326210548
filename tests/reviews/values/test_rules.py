"""Documentation pages of rules: those of the installed programs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from symposia.reviews.values.rules import is_security_rule, rule_page, rule_title

RUFF = [sys.executable, "-m", "ruff", "rule", "--all", "--output-format", "json"]


#: A separate process, because bandit imports with warnings, which are errors in tests.
PAGES_OF_BANDIT = """
import json
from bandit.core import docs_utils, extension_loader
manager = extension_loader.MANAGER
rules = [*manager.plugins_by_id, *manager.blacklist_by_id]
print(json.dumps({it: docs_utils.get_url(it) for it in rules}))
"""


def test_each_rule_of_bandit_has_the_page_that_bandit_names() -> None:
    command = [sys.executable, "-c", PAGES_OF_BANDIT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    pages = {rule: file_name(url) for rule, url in json.loads(done.stdout).items()}
    assert len(pages) > 60
    assert {rule: file_name(rule_page(rule)) for rule in pages} == pages


def file_name(url: str) -> str:
    return url.partition("#")[0].rpartition("/")[2]


def test_each_rule_of_ruff_has_a_page() -> None:
    done = subprocess.run(RUFF, capture_output=True, text=True, check=True)
    names = {it["code"]: it["name"] for it in json.loads(done.stdout) if it.get("code")}
    codes = list(names)
    assert len(codes) > 500
    usual = [it for it in codes if it.startswith(("B", "E7", "E9", "F4", "F8", "S1", "S3"))]
    assert [it for it in usual if rule_title(it).lower() != names[it].replace("-", " ")] == []
    assert [it for it in codes if not rule_page(it).endswith(f"/ruff/rules/#{it}")] == []


@pytest.mark.parametrize(
    ("rule", "title"),
    [
        ("F401", "Unused import"),
        ("B105", "Hardcoded password string"),
        ("B301", "Suspicious pickle usage"),
        ("B006", "Mutable argument default"),
        ("missing-timeout", "Missing timeout"),
        ("SC2086", "Rule SC2086"),
        ("eslint(no-eval)", "Rule eslint(no-eval)"),
    ],
)
def test_title_says_what_a_rule_is_about(rule: str, title: str) -> None:
    assert rule_title(rule) == title


@pytest.mark.parametrize("rule", ["remark", "dead-link", "X1", "no-unused-vars", "S105 "])
def test_other_rules_have_no_page(rule: str) -> None:
    assert rule_page(rule) == ""


def test_security_rules_are_those_of_bandit_and_weaknesses() -> None:
    security = [it for it in ("S105", "B608", "CWE-89", "B006", "F401", "SIM102") if is_security_rule(it)]
    assert security == ["S105", "B608", "CWE-89"]
