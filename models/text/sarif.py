"""Builders of SARIF 2.1.0 logs, which code hosts show next to the lines of a file.

The reports of reviews and of `symposia lint` differ in what they add to a run and to its results.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_log(
    tool: str,
    *,
    version: str,
    rules: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    **more: Any,
) -> dict[str, Any]:
    """Return a log with one run.

    Args:
        tool: Name of the program.
        version: Its version.
        rules: Rules, from `sarif_rule`. A result's `ruleIndex` is an index into them, from 0.
        results: Results, based on `sarif_message`.
        more: Other properties of the run.
    """
    driver = {"name": tool, "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, **more, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def sarif_rule(rule_id: str, text: str, **more: Any) -> dict[str, Any]:
    """Return a rule with its description, one line."""
    return {"id": rule_id, "shortDescription": {"text": text}, **more}


def sarif_message(level: str, text: str, *, uri: str, **region: int) -> dict[str, Any]:
    """Return a text about a file: a notification, or the core of a result.

    Args:
        level: `error`, `warning`, `note` or `none`.
        text: Text of the message; not empty.
        uri: The file, as a reference by RFC 3986.
        region: Lines and columns, such as `startLine=1`; none for the whole file.
    """
    place: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if region:
        place["region"] = region
    return {"level": level, "message": {"text": text}, "locations": [{"physicalLocation": place}]}
