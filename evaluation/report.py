"""The result of an evaluation as one HTML file, without scripts and external resources; all text is escaped."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Template

from ..models.text.html_page import content_policy_of, page_environment
from .results import EvaluationResult, score_text


def render_html(result: EvaluationResult) -> str:
    """Return the result as an HTML page."""
    return _template().render(result=result, summaries=result.summaries, scorers=result.scorers)


@cache
def _template() -> Template:
    style = _read("report.css")
    known = {"style": style, "policy": content_policy_of(style), "number": score_text}
    return page_environment().from_string(_read("report.html.jinja"), globals=known)


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
