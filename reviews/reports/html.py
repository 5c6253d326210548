"""The report as one HTML file without scripts and external resources; text from agents and files is escaped.

`page.html.jinja` is the page, `page.css` its style. Jinja escapes every value except the style and the
policy.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template

from ...models.review.runs import ReviewRun
from .report_model import ReportModel, finding_details, more_suffix


def to_html(run: ReviewRun) -> str:
    """Return the report of a run."""
    return _template().render(outline=ReportModel(run))


@cache
def _template() -> Template:
    style = _read("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    known = {
        # The browser applies only this style, even if the page contains injected content.
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        "style": style,
        "details": finding_details,
        "more": more_suffix,
    }
    return environment.from_string(_read("page.html.jinja"), globals=known)


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
