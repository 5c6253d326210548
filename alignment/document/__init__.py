"""The dialogue format: parser, writer, linter and specification of alignment documents.

    document = parse(markdown)
    assert parse(render(document)) == document

Lines are distinguished by their structure alone; no pattern matching is used anywhere in this package.

Source: RFC 0028, Dialogue Format Contract.
"""

from __future__ import annotations

from ...models.alignment.marker_refs import MarkerRef
from ...models.alignment.vocabulary import MarkerType, TensionState
from .findings import ContentRule, LintFinding, LintSeverity, to_sarif
from .lines import Content, DialogueLine, classify
from .markers import Marker
from .model import AlignmentDialogue, Block, Judge, Metadata, MetadataForm, Part, Prose, Round, Section, Turn
from .reader import ScannedLine, parse, parse_markers, scan
from .rendering import fix, render
from .rules import lint
from .specification import specification_markdown
from .tables import Table
from .views import Scoreboard, Tension, scoreboards, summary, tensions

__all__ = [
    "AlignmentDialogue",
    "Block",
    "Content",
    "ContentRule",
    "DialogueLine",
    "Judge",
    "LintFinding",
    "LintSeverity",
    "Marker",
    "MarkerRef",
    "MarkerType",
    "Metadata",
    "MetadataForm",
    "Part",
    "Prose",
    "Round",
    "ScannedLine",
    "Scoreboard",
    "Section",
    "Table",
    "Tension",
    "TensionState",
    "Turn",
    "classify",
    "fix",
    "lint",
    "parse",
    "parse_markers",
    "render",
    "scan",
    "scoreboards",
    "specification_markdown",
    "summary",
    "tensions",
    "to_sarif",
]
