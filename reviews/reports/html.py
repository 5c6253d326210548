"""The report as one HTML file without scripts and external resources; text from agents and files is escaped.

`page.html.jinja` is the page, `page.css` its style, `facets.py` its filters. Jinja escapes every value except
the style and the policy.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Template

from ...models.text.html_page import content_policy_of, page_environment
from ..values.runs import ReviewRun
from .excerpts import excerpt_lines, replacement_diff
from .facets import Facets, facet_rules
from .report_model import ReportModel, finding_details, line_link_of, more_suffix, verification_text


def to_html(run: ReviewRun) -> str:
    """Return the report of a run."""
    report = ReportModel(run)
    return _template().render(report=report, facets=Facets(report))


@cache
def content_policy() -> str:
    """Return the content security policy of reports: the browser applies only the style of the report."""
    return content_policy_of(_style())


@cache
def _template() -> Template:
    known = {
        # It applies even if the page contains injected content.
        "policy": content_policy(),
        "style": _style(),
        "details": finding_details,
        "more": more_suffix,
        "link_of": line_link_of,
        "excerpt": excerpt_lines,
        "diff": replacement_diff,
        "verified": verification_text,
    }
    return page_environment().from_string(_read("page.html.jinja"), globals=known)


@cache
def _style() -> str:
    """Return the style of every report, so that the policy is the same for all."""
    return _read("page.css") + facet_rules()


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
