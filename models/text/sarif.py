"""Writer of SARIF 2.1.0 logs, which code hosts show next to the lines of a file.

The reports of reviews and of `symposia lint` are made of the same parts; they differ in what they add to a
run and to its results. Rules and results have everything that code scanning requires.

Sources: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0; GitHub, "SARIF support for
code scanning".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: Maximum characters of a rule's name, and of its descriptions, in code scanning.
MAX_RULE_NAME = 255
MAX_DESCRIPTION = 1_024


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
        rules: Rules, from `SarifRule`. A result's `ruleIndex` is an index into them, from 0.
        results: Results, based on `sarif_message`.
        more: Other properties of the run.
    """
    driver = {"name": tool, "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, **more, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


@dataclass(frozen=True, slots=True, kw_only=True)
class SarifRule:
    """A rule with its descriptions."""

    rule_id: str
    #: Readable name; empty: the id.
    name: str = ""
    #: Description in one line.
    short: str
    #: Description of the rule; empty: the short one.
    full: str = ""
    #: What to do, as text and as Markdown; empty: the description.
    help: str = ""
    help_markdown: str = ""
    #: Page of the rule's documentation; empty: there is none.
    help_uri: str = ""
    #: `error`, `warning`, `note` or `none`.
    level: str
    #: Such as `tags`, `precision` and `security-severity`.
    properties: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the `reportingDescriptor`."""
        full = self.full or self.short
        advice = self.help or full
        link = f"\n\n[Documentation of the rule]({self.help_uri})" if self.help_uri else ""
        text = f"\n\nDocumentation of the rule: {self.help_uri}" if self.help_uri else ""
        rule: dict[str, Any] = {
            "id": self.rule_id,
            "name": _cut(self.name or self.rule_id, MAX_RULE_NAME),
            "shortDescription": {"text": _cut(self.short, MAX_DESCRIPTION)},
            "fullDescription": {"text": _cut(full, MAX_DESCRIPTION)},
            "help": {"text": advice + text, "markdown": (self.help_markdown or advice) + link},
            "defaultConfiguration": {"level": self.level},
        }
        if self.help_uri:
            rule["helpUri"] = self.help_uri
        return {**rule, "properties": dict(self.properties)} if self.properties else rule


def sarif_message(level: str, text: str, *, uri: str, **region: int) -> dict[str, Any]:
    """Return a text about a file: a notification, or the core of a result.

    Args:
        level: `error`, `warning`, `note` or `none`.
        text: Text of the message; not empty.
        uri: The file, as a reference by RFC 3986.
        region: Lines and columns, such as `startLine=1`; none for the whole file.
    """
    physical_location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if region:
        physical_location["region"] = region
    return {"level": level, "message": {"text": text}, "locations": [{"physicalLocation": physical_location}]}


def sarif_fix(description: str, *, uri: str, start: int, end: int, text: str) -> dict[str, Any]:
    """Return a fix that replaces whole lines of a file.

    Args:
        description: What the fix does.
        uri: The file, as a reference by RFC 3986.
        start: First replaced line, from 1.
        end: Last replaced line.
        text: New lines, without the last line end; empty: the lines are deleted.
    """
    # From the start of the first line to the start of the line after the last one.
    region = {"startLine": start, "startColumn": 1, "endLine": end + 1, "endColumn": 1}
    replacement = {"deletedRegion": region, "insertedContent": {"text": f"{text}\n" if text else ""}}
    change = {"artifactLocation": {"uri": uri}, "replacements": [replacement]}
    return {"description": {"text": description}, "artifactChanges": [change]}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
