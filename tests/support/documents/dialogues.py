"""Dialogue documents made by hypothesis: any text in their fields, the nastiest for a parser above all."""

from __future__ import annotations

from hypothesis import strategies as st

from symposia.alignment.document import (
    AlignmentDialogue,
    Judge,
    Marker,
    MarkerRef,
    MarkerType,
    Metadata,
    MetadataForm,
    Prose,
    Round,
    Section,
    Table,
    Turn,
)
from symposia.models.errors import InvalidInput

PIECES = [
    "[TENSION]", "**[PERSPECTIVE]**: ", "[RESOLVED: ]:",
    "]", "[", "|", "\n", "\r\n", "\r", "#", "## ", "### ", "# ", "```", "~~~", "````", "`", "\\", "\\\\", "**", "*", ":", "**K**: v",
    "> ", "- ", "1. ", "---", "<!--", "-->", " ", "\t", "    ", "P01", "T01", "T1-T3", "R1-", "Muffin", "Scone 🧁", "🧁", "💙", "✅",
    "Judge", "💙 Judge: x", "Round 3", "## Round 1: x", "### Muffin 🧁", "## 💙 Judge: y", "[TENSION T01: x]", "[RESOLVED T9",
    "[PERSPECTIVE P1]", "\\[TENSION T01: x]", "[CONCESSION: y", "[RESOLVED Tnn: z]", "`[TENSION T01: x]`", "| a | b |", "|---|---|", "—",
    "(", ")", "'s", "T01 — because", ": ", "\ufeff", "\u2028", "\x0c", "word", "é", "0", "## Expert Panel", "| Agent | Role |",
    "**Muffin**: hi", "**Participants**: Ada", "    [TENSION T01: x]", "\t## Round 2", "    ```", "- [TENSION T1: x]", "1. a", "［TENSION T01：x］",
    "| [TENSION T01: x] | \\[RESOLVED T01] |", "[TENSION 1, 2: x]", "【", "］", "：", "[RESOLVED P01→P02]", "**Round 1: X**", "**Round 2**", "Round 3: X",
    "======", "- **Muffin**: x", "Muffin: y", "### Muffin Response", "> **Scone** 🧁 — z", "## Final Round", "## Opening Round", "## 2) Round II",
    "Muffin 🧁", "### [Muffin](#m)", "{#a}", "<b>", "### 🧁 Scone [TENSION T01: x]", "__Muffin__", "# Round 1", "# Round 2", "##### Ada", "@", "Round",
    '[TENSION "T01": x]', "[RESOLVED T01](#t): x", "](#t): ", '"T01"', '"', "Dr. ", "### Dr. Muffin", "Prof. Ada", "## Round 2 was skipped", "Round 2024 budget",
    "> ## Round 1", "<h2>Round 1</h2>", "**Round 1**: X", "### Muffin & Scone", "### Alice",
    "### Bob 🐙", "## Round 2 (Review)", "### Round 4 Summary", "Synthesis — Round 3", "**Round 5 (Vote)**", "## Tensions (Round 6)", "## Positions", "[TENSION T1.1: x]", "[RESOLVED T04-R1, T-NEW]", "T1.2", "-R1", "T-NEW", "[CONCESSION to Strudel on T01]", "to Ada on ",
]  # fmt: skip


def _piece(at: int) -> str:
    """One of the pieces; drawn by its place, for what is drawn is spelled out wherever it is used."""
    return PIECES[at]


pieces = st.integers(0, len(PIECES) - 1).map(_piece)
#: Text of few pieces: often it matters how the same two or three follow each other, and among so many they seldom do.
of_few = st.lists(pieces, min_size=2, max_size=5).flatmap(
    lambda few: st.lists(st.sampled_from(few), max_size=10).map("".join)
)
#: Any text, and text made of what means something to the parser.
texts = st.one_of(
    of_few,
    st.lists(pieces, max_size=12).map("".join),
    st.lists(st.one_of(pieces, st.text(max_size=6)), max_size=8).map(" ".join),
    st.text(max_size=40),
)


def _or_nothing(make):
    def built(*args, **kwargs):
        try:
            return make(*args, **kwargs)
        except InvalidInput:
            return None

    return built


def _made(make, *args, **kwargs):
    """What `make` builds of drawn values, leaving out those that it refuses."""
    return st.builds(_or_nothing(make), *args, **kwargs).filter(lambda made: made is not None)


ids = st.builds(
    lambda letter, n, sub: f"{letter}{n:02}{sub}",
    st.sampled_from("PT"),
    st.integers(0, 120),
    st.sampled_from([""] * 6 + [".1", ".1.2", "-M", "-R1", "-NEW", "-NEW-2", "a"]),
) | st.sampled_from(["T-NEW", "P-NEW-1", "T-SEC"])
refs = st.builds(
    MarkerRef,
    ids,
    st.sampled_from([None] * 6 + ["MUFFIN", "Scone", "P1", "C1", "R2", "T-1", "PN", "T-REX"]),
    st.none() | st.integers(0, 12),
)
markers = _made(
    lambda kind, refs, label: Marker(kind, tuple(dict.fromkeys(refs)), label),
    st.sampled_from(MarkerType),
    st.lists(refs, max_size=3),
    texts,
)
tables = st.builds(
    Table,
    st.lists(texts, min_size=1, max_size=3).map(tuple),
    st.lists(st.lists(texts, min_size=1, max_size=4).map(tuple), max_size=3).map(tuple),
)
blocks = st.lists(st.one_of(st.builds(Prose, texts), markers, tables), max_size=4).map(tuple)
names = st.one_of(st.sampled_from(["Muffin", "Scone", "Ada", "muffin", "Systems Architect"]), texts)
turns = _made(Turn, names, st.sampled_from(["🧁", "🧁", "🦊", "🐙"]), texts, blocks)
rounds = st.builds(Round, st.integers(0, 40), texts, blocks, st.lists(turns, max_size=3).map(tuple))
metadata = _made(Metadata, texts, texts, st.sampled_from(MetadataForm))
panels = st.builds(
    lambda found: Section(
        "Expert Panel",
        (Table(("Agent", "Role"), tuple((f"{emoji} {name}", "r") for name, emoji in found)),),
    ),
    st.lists(st.tuples(names, st.sampled_from(["🧁", "🦊", ""])), max_size=4),
)
parts = st.one_of(rounds, rounds, st.builds(Judge, texts, blocks), _made(Section, texts, blocks), panels)
documents = _made(
    AlignmentDialogue,
    texts,
    st.lists(metadata, max_size=3).map(tuple),
    blocks,
    st.lists(parts, max_size=4).map(tuple),
)
#: Text as documents are made of, in lines.
markdown = st.one_of(st.lists(st.one_of(pieces, texts), max_size=14).map("\n".join), of_few)

_PANEL = "# T\n\n## Expert Panel\n\n| Agent | Role |\n|---|---|\n| 🧁 Muffin | A |\n| 🦊 Scone | B |\n\n"
_HEADS = [
    "",
    "# T\n\n",
    _PANEL,
    f"{_PANEL}## Round 1: X\n\n### Muffin 🧁\n\na\n\n",
    "# T\n\n**Participants**: Muffin 🧁, Scone\n\n",
]
#: Lines in other spellings than the canonical one, which `fix` changes, and lines that such a change may affect.
_LOOSE = [
    "## Round 2 (X)", "# ROUND II — X", "## Second Round", "## Round 3 (Review)", "### Round 4 Summary", "## Final Round", "Round 5: X\n---",
    "**Round 1: X**", "## R2", "### 🧁 Muffin", "### Scone", "### Muffin Response", "## **Muffin** 🧁", "Muffin 🧁\n---", "**Muffin**: x [TENSION T1: y] z",
    "> 🦊 Scone: hi", "- **Scone** (B): w", "### 💙 Judge Synthesis", "## Judge: Ruling", "# Conclusion", "## Positions", "## Tensions Tracker",
    "- [TENSION T1]: y", "[RESOLVED T1.1, T04-R1]", "**[TENSION T-NEW]:** z", "a [TENSION 2: y] b", "> [RESOLVED T1]", "### Scone 🧁 [TENSION T2: x]",
    "## S [TENSION T2: y]", "[CONCESSION to Ada on T01]", "| a |", "| a | [TENSION T3: x] |", "| ID |", "|---|", "```", "    ```", "    code", "- item",
    "<!--", "-->", "---", "===", "words", "", "", "",
]  # fmt: skip
#: Documents whose form is not the canonical one.
loose = st.builds(
    lambda head, lines, gap: head + gap.join(lines),
    st.sampled_from(_HEADS),
    st.lists(st.sampled_from(_LOOSE), max_size=10),
    st.sampled_from(["\n", "\n\n"]),
)
