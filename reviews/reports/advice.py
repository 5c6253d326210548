"""What to do about a finding, in plain words, and the documentation of its rule."""

from __future__ import annotations

from typing import NamedTuple

from ..values.findings import Category, Finding
from ..values.rules import category_of_rule, rule_page

#: What to do about a kind of defect.
ADVICE = {
    Category.REMOVED_CHECK: "Put the check back, or show where it is done now.",
    Category.ACCESS: "Check who may do this and refuse everyone else; keep secrets out of the code.",
    Category.INJECTION: "Pass outside data as a parameter, or accept only known values.",
    Category.DATA_LOSS: "Make the change in one transaction, or keep the old data until the new data is complete.",
    Category.ERROR_HANDLING: "Catch only the expected errors, and report or pass on the others.",
    Category.CONCURRENCY: "Check and change in one step, under a lock or in a transaction.",
    Category.WRONG_RESULT: "Correct the lines, and add a test with the input that fails.",
    Category.MISSING_VALUE: "Handle the missing or empty value before it is used.",
    Category.CONTRACT: "Change the callers and stored data, too, or keep the old form.",
    Category.RESOURCE: "Release the resource in every case, and set a limit or a timeout.",
    Category.SLOW: "Move the work out of the loop, or do it for all elements at once.",
    Category.TEST: "Restore the test, or replace it with one that fails without the fix.",
}
#: How to accept a finding, in Markdown.
IGNORE_HINT = (
    "Fix the most severe findings first. To accept one, write a comment in or above its line: "
    "`symposia: ignore[RULE] the reason`."
)
_ANY_ADVICE = "Correct the lines. If they are right, say why in an ignore comment."


def advice_of(finding: Finding) -> str:
    """Return what to do about a finding: what was suggested, or else what helps with its kind or its rule."""
    if finding.suggestion:
        return finding.suggestion
    if finding.replacement is not None and finding.start_line:
        return "Replace the lines as shown."
    if (kind := kind_of(finding)) is not None:
        return ADVICE[kind]
    return "Follow the documentation of the rule." if page_of(finding) else _ANY_ADVICE


def kind_of(finding: Finding) -> Category | None:
    """Return the kind of a finding: its own, or that of its rule; None: not known."""
    name = finding.category or category_of_rule(finding.rule)
    return Category(name) if name else None


class RulePage(NamedTuple):
    """Documentation page of a rule."""

    rule: str
    url: str


def page_of(finding: Finding) -> RulePage | None:
    """Return the page of a finding's rule, or of the rule of a finding that was merged into it; None: not known."""
    pages = (RulePage(name, rule_page(name)) for name in (finding.rule, *finding.aliases))
    return next((page for page in pages if page.url), None)
