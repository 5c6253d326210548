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
from .lines import DialogueLine, classify
from .markers import Marker
from .reader import parse, parse_markers
from .refs import Ref
from .scan import ScannedLine, scan
from .tables import Table
from .words import MarkerType, TensionState
from .writer import render

__all__ = [
    "AlignmentDialogue",
    "Block",
    "DialogueLine",
    "Judge",
    "Marker",
    "MarkerType",
    "Metadata",
    "MetadataForm",
    "Part",
    "Prose",
    "Ref",
    "Round",
    "ScannedLine",
    "Section",
    "Table",
    "TensionState",
    "Turn",
    "classify",
    "parse",
    "parse_markers",
    "render",
    "scan",
]
