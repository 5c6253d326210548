"""What the HTML reports have in common: escaping, and the policy with which a browser applies only their own style."""

from __future__ import annotations

import base64
import hashlib

from jinja2 import Environment, StrictUndefined


def page_environment() -> Environment:
    """Return a template environment that escapes every value, and in which an unknown name is an error."""
    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def content_policy_of(style: str) -> str:
    """Return the content security policy of a page without scripts and external resources.

    Args:
        style: The content of its style element.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
