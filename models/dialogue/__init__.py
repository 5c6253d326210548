"""The dialogue format: one typed contract to read, write, check and explain alignment dialogues.

    document = parse(markdown)
    assert parse(render(document)) == document

Lines are told apart by their structure alone; no pattern matching is used anywhere in this package.

Source: RFC 0028, Dialogue Format Contract.
"""

from __future__ import annotations

from .document import (
    AlignmentDialogue,
    Block,
    Judge,
    Metadata,
    MetadataForm,
    Part,
    Prose,
    Round,
    Section,
    Turn,
)
from .findings import Finding, Rule, Severity
from .fixing import fix
from .lines import Content, DialogueLine, classify
from .lint import lint
from .markers import Marker
from .reader import parse, parse_markers
from .refs import Ref
from .sarif import to_sarif
from .scan import ScannedLine, scan
from .scoreboards import Scoreboard, scoreboards
from .specification import specification_markdown
from .summary import summary
from .tables import Table
from .views import Tension, tensions
from .words import MarkerType, TensionState
from .writer import render

__all__ = [
    "AlignmentDialogue",
    "Block",
    "Content",
    "DialogueLine",
    "Finding",
    "Judge",
    "Marker",
    "MarkerType",
    "Metadata",
    "MetadataForm",
    "Part",
    "Prose",
    "Ref",
    "Round",
    "Rule",
    "ScannedLine",
    "Scoreboard",
    "Section",
    "Severity",
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
