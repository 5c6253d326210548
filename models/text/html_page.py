"""What the HTML reports have in common: escaping, and the policy with which a browser uses only their own style and script."""

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


def content_policy_of(style: str, script: str = "") -> str:
    """Return the content security policy of a page without external resources.

    Args:
        style: The content of its style element.
        script: The content of its one script element; empty: no script may run.
    """
    scripts = f"script-src {_hash_of(script)}; " if script else ""
    return f"default-src 'none'; {scripts}style-src {_hash_of(style)}; base-uri 'none'; form-action 'none'"


def _hash_of(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
