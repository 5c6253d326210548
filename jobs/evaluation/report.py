"""The result of an evaluation as one HTML file, without scripts and external resources; all text is escaped."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template

from ...models.evaluation.results import EvaluationResult


def render_html(result: EvaluationResult) -> str:
    """Return the result as an HTML page."""
    summaries = result.summaries
    scorers = list(dict.fromkeys(name for it in summaries for name in it.scorers))
    return _template().render(result=result, summaries=summaries, scorers=scorers)


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["number"] = lambda value: "-" if value is None else f"{value:.3f}"
    page = files(__package__).joinpath("report.html.jinja").read_text(encoding="utf-8")
    return environment.from_string(page)
