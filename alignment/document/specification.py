"""`specification_markdown`: the format explained to those who write it, from the tables that the parser uses.

Source: RFC 0028, "Interface: DialogueFormat".
"""

from __future__ import annotations

from functools import cache

from ...models.alignment.marker_refs import MarkerRef
from ...models.alignment.vocabulary import (
    CONVERGE_MOVE,
    DIMENSIONS,
    MARKER_MEANINGS,
    NUMBERED,
    PANEL_TITLE,
    PARTICIPANTS_KEY,
    PERSPECTIVES_TITLE,
    SCOREBOARD_TITLE,
    TENSIONS_TITLE,
    TOTAL_KEY,
    MarkerType,
)
from .headings import AgentHeading, JudgeHeading, RoundHeading
from .markers import Marker
from .model import AlignmentDialogue, Block, Judge, Metadata, Part, Prose, Round, Section, Turn
from .rendering import render
from .tables import Table

_OF_ANOTHER = Marker(MarkerType.RESOLVED, (MarkerRef("T01", "SCONE"),), "Both agree")

_RULES = f"""\
## Rules

- Each marker is alone on its line, at the start of the line, with its label inside the bracket. Your text about it
  follows in the next lines.
- Ids have two digits: the perspectives and tensions you raise are P01, P02 and T01, T02, each number once in a turn.
- An id means your own tension or perspective. For another expert's, put the name before it, in capitals:
  `{_OF_ANOTHER}`. Name several ids with commas.
- Close every bracket and every block of code. To write about a marker, put it between backticks.
- When you have nothing left to discuss, end with `{CONVERGE_MOVE}` on a line of its own.
"""


def specification_markdown() -> str:
    """Return the format as instructions: markers, rules, and a whole document as an example."""
    return "\n".join(
        (
            "# How alignment dialogues are written",
            "",
            "## Markers",
            "",
            str(_markers()),
            "",
            _RULES,
            "## Headings",
            "",
            str(_headings()),
            "",
            "## A document",
            "",
            "````markdown",
            render(example()).rstrip("\n"),
            "````",
            "",
        )
    )


def marker_examples() -> dict[MarkerType, Marker]:
    """Return one marker of each type."""
    return {
        kind: Marker(kind, (MarkerRef(name),) if name else (), label)
        for kind, (_, name, label) in MARKER_MEANINGS.items()
    }


def _markers() -> Table:
    rows = tuple(
        (f"`{marker}`", meaning, "yes" if kind in NUMBERED else "no")
        for (kind, marker), (meaning, _, _) in zip(
            marker_examples().items(), MARKER_MEANINGS.values(), strict=True
        )
    )
    return Table(("Marker", "Says", "Needs an id"), rows)


def _headings() -> Table:
    return Table(
        ("Line", "Begins"),
        (
            (f"`{RoundHeading(1, 'Tension Resolution')}`", "a round"),
            (f"`{AgentHeading('Muffin')}`", "an expert's turn in it"),
            (f"`{JudgeHeading('Round 1 Assessment')}`", "what the judge says about it"),
        ),
    )


@cache
def example() -> AlignmentDialogue:
    """Return a short example document."""
    examples = marker_examples()
    perspective, tension = examples[MarkerType.PERSPECTIVE], examples[MarkerType.TENSION]
    rounds = (
        Round(
            0,
            "Opening Arguments",
            turns=(
                _turn("Muffin", perspective, "A table can be rebuilt from files, not the other way round."),
                _turn("Scone", tension, "Checking every file makes each start slow."),
            ),
        ),
        Round(
            1,
            "Tension Resolution",
            turns=(
                _turn(
                    "Muffin",
                    examples[MarkerType.REFINEMENT],
                    "The table is a cache.",
                    examples[MarkerType.CONCESSION],
                    CONVERGE_MOVE,
                ),
                _turn("Scone", examples[MarkerType.RESOLVED], CONVERGE_MOVE),
            ),
        ),
    )
    parts: tuple[Part, ...] = (
        *_tables(perspective, tension),
        *rounds,
        Judge("Round 1 Assessment", (Prose("Converged."),)),
    )
    metadata = (Metadata("Status", "Converged"), Metadata(PARTICIPANTS_KEY, "💙 Judge, 🧁 Muffin, 🧁 Scone"))
    return AlignmentDialogue("Alignment Dialogue: Files or Tables", metadata, parts=parts)


def _turn(agent: str, *contents: Marker | str) -> Turn:
    blocks: tuple[Block, ...] = tuple(Prose(item) if isinstance(item, str) else item for item in contents)
    return Turn(agent, blocks=blocks)


def _tables(perspective: Marker, tension: Marker) -> tuple[Part, ...]:
    panel = Table(("Agent", "Role"), (("🧁 Muffin", "Systems Architect"), ("🧁 Scone", "Risk Analyst")))
    scores = Table(
        ("Agent", *DIMENSIONS, "Total"),
        (("🧁 Muffin", "3", "2", "3", "3", "11"), ("🧁 Scone", "2", "3", "3", "2", "10")),
    )
    inventory = Table(
        ("ID", "Agent", "Perspective", "Round"), ((*perspective.ids, "🧁 Muffin", perspective.label, "0"),)
    )
    tracker = Table(
        ("ID", "Tension", "Status", "Raised", "Resolved"),
        ((*tension.ids, tension.label, "Resolved", "🧁 Scone R0", "R1"),),
    )
    return (
        Section(PANEL_TITLE, (panel,)),
        Section(SCOREBOARD_TITLE, (scores, Prose(str(Metadata(TOTAL_KEY, "21"))))),
        Section(PERSPECTIVES_TITLE, (inventory,)),
        Section(TENSIONS_TITLE, (tracker,)),
    )
