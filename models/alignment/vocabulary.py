"""The words of the dialogue format: one set of tables that parser, writer, linter and specification share.

Source: RFC 0028, "Core Type" and "Tolerance Policy".
"""

from __future__ import annotations

from enum import StrEnum


class MarkerType(StrEnum):
    """Types of markers about perspectives and tensions."""

    PERSPECTIVE = "perspective"
    TENSION = "tension"
    REFINEMENT = "refinement"
    CONCESSION = "concession"
    RESOLVED = "resolved"

    @property
    def word(self) -> str:
        """The word inside the bracket: `PERSPECTIVE`."""
        return self.value.upper()


class TensionState(StrEnum):
    """State of a tension."""

    OPEN = "open"
    ADDRESSED = "addressed"
    RESOLVED = "resolved"
    REOPENED = "reopened"
    DEFERRED = "deferred"


#: Purpose of each marker in the words of the specification, with an example of its label.
MARKER_MEANINGS = {
    MarkerType.PERSPECTIVE: ("a new way of seeing the matter, with its id", "P01", "Files are the source"),
    MarkerType.TENSION: ("an open question or a conflict, with its id", "T01", "Speed against safety"),
    MarkerType.REFINEMENT: ("something said before, made more precise", "P01", "Files win, tables follow"),
    MarkerType.CONCESSION: ("a point given to another expert", "", "Scone is right about locks"),
    MarkerType.RESOLVED: ("a tension that is settled, by its id", "T01", "Safety first, then caching"),
}

#: Words that open a marker, in capitals. A plural is read and corrected.
MARKER_WORDS = {kind.word: kind for kind in MarkerType} | {
    "PERSPECTIVES": MarkerType.PERSPECTIVE,
    "TENSIONS": MarkerType.TENSION,
    "REFINEMENTS": MarkerType.REFINEMENT,
    "CONCESSIONS": MarkerType.CONCESSION,
}
#: Words in the place of a marker's word: not read as one, but reported with the intended word.
NEAR_WORDS = {
    "RESOLUTION": MarkerType.RESOLVED,
    "RESOLVE": MarkerType.RESOLVED,
    "RESOLVES": MarkerType.RESOLVED,
    "REFINED": MarkerType.REFINEMENT,
    "REFINE": MarkerType.REFINEMENT,
    "CONCEDED": MarkerType.CONCESSION,
    "CONCEDE": MarkerType.CONCESSION,
}
#: Words in the place of a future id: `[TENSION ID: label]`.
FORMS = frozenset({"ID", "IDS", "N", "NN", "X", "XX", "...", "…"})
#: Letters that begin an id in every marker, and those that do in markers of one type only.
ID_LETTERS = "PT"
OWN_LETTERS = {MarkerType.REFINEMENT: "R", MarkerType.CONCESSION: "C"}
#: The letter that a bare number implies: `[TENSION 1: x]` is T01.
NUMBER_LETTERS = {
    MarkerType.PERSPECTIVE: "P",
    MarkerType.TENSION: "T",
    MarkerType.RESOLVED: "T",
} | OWN_LETTERS
#: Markers that mean nothing without an id.
NUMBERED = frozenset({MarkerType.PERSPECTIVE, MarkerType.TENSION, MarkerType.RESOLVED})
#: Words before an id that are ignored: `[CONCESSION on T02: ...]`.
FILLERS = frozenset({"ON", "OF", "TO", "FOR", "IN", "RE", "WITH", "TENSION", "TENSIONS", "PERSPECTIVE"})
#: Separators between ids: `T01, T02`, `T3/T6`, `T1 and T2`.
JOINERS = ",/&+;|"
#: Arrows from one id to another: `P01 → P02`.
ARROWS = ("→", "⇒", "->", "=>")
JOINING_WORDS = frozenset({"AND", "OR"})
DASHES = "-–—‐‑−―"
#: Separators between the first and the last id of a range.
RANGES = (*DASHES, "~", "…", "..", "through ", "thru ", "to ")

#: Move of an expert who has nothing left to discuss; with a condition it does not count.
CONVERGE_MOVE = "[MOVE:CONVERGE]"

JUDGE = "Judge"
JUDGE_EMOJI = "💙"
EXPERT_EMOJI = "🧁"
#: Words after `Round N` that make a heading one of a report, in which experts are quoted but do not speak.
ROUND_REPORT_WORDS = frozenset(
    "summary scoreboard result results directive recap status votes scores score notes prompt agenda totals".split()
)
#: Words of headings that name a section of the whole document.
SECTION_WORDS = frozenset("panel experts tensions tracker perspectives inventory".split())
NUMBER_WORDS = {
    word: number
    for words in (
        (
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen twenty"
        ),
        "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
    )
    for number, word in enumerate(words.split())
}
#: Roman numerals. `X` alone is a placeholder for a number that is not yet known.
ROMAN = {
    word: number
    for number, word in enumerate("I II III IV V VI VII VIII IX . XI XII XIII XIV XV".split(), start=1)
    if word != "."
}
#: Words before `Round`: those that mean the first one, before any number, and those that mean the one after the last.
FIRST_ROUNDS = frozenset({"opening", "initial", "preliminary"})
LATER_ROUNDS = frozenset({"final", "closing", "last", "bonus", "extra", "concluding"})
#: Emoji that decorate headings; none of them is a person.
ORNAMENTS = frozenset(
    "✅ ❌ ⚠ ⚠️ ✓ ✔ ✔️ ✗ ✘ ❗ ❓ ❔ ➡ ➡️ ⭐ ★ ☆ ✨ ⚡ ⚖ ⚖️ ⚙ ⚙️ 🎯 📊 📈 📉 📝 📌 📋 📚 📖 📦 🔑 🔍 🔎 🔄 🔁 🔧 🔨 🔥 🔒 🔓 🔗 💡 💬 💭 🚀 "
    "🏁 🏆 🎉 🎊 🚨 🚧 🛑 🧩 🧪 🗂 🗂️ 🗳 🗳️ 🛠 🛠️ 🟢 🟡 🔴 🔵 👍 👎 🤝 🌟 🗒 🗒️ 🧭".split()
)

PANEL_TITLE = "Expert Panel"
SCOREBOARD_TITLE = "Alignment Scoreboard"
PERSPECTIVES_TITLE = "Perspectives Inventory"
TENSIONS_TITLE = "Tensions Tracker"
#: Words of a heading under which a table or a list names the experts.
PANEL_WORDS = frozenset({"panel", "experts", "participants", "agents", "panelists", "roster", "cast"})
#: Headings of the first column of a table of people.
PERSON_COLUMNS = frozenset(
    {"agent", "agents", "expert", "name", "participant", "panelist", "speaker", "persona"}
)
#: Words that may precede the name in a turn's heading: `Expert 1: Muffin`.
ROLE_WORDS = frozenset(
    "agent expert participant panelist speaker turn response reply statement round r".split()
)
#: Titles that are ignored when names are compared.
HONORIFICS = frozenset("dr doctor prof professor mr mrs ms mx sir dame".split())
#: The four dimensions that a judge scores, each with its letter.
DIMENSIONS = ("Wisdom", "Consistency", "Truth", "Relationships")
#: Headings of the column that holds the sum of the four.
TOTALS = frozenset({"total", "alignment", "score", "sum"})
#: Words of headings of columns whose numbers a total includes besides the four, and of those that it leaves out.
BONUS_WORDS = frozenset({"bonus", "bonuses", "extra", "adjustment", "adj", "modifier"})
PENALTY_WORDS = frozenset({"penalty", "penalties", "deduction", "deductions", "malus"})
#: First words of rows that sum up the others.
SUM_WORDS = frozenset({"total", "totals", "sum", "average", "avg", "mean", "overall"})
#: The metadata line that names who takes part, and the one that sums up a scoreboard.
PARTICIPANTS_KEY = "Participants"
TOTAL_KEY = "Total ALIGNMENT"

#: Meaning of a tracker's status cell, by its first known word; longer words first.
STATUS_WORDS = (
    ("unresolved", TensionState.OPEN),
    ("reopened", TensionState.REOPENED),
    ("re-opened", TensionState.REOPENED),
    ("not resolved", TensionState.OPEN),
    ("near-resolved", TensionState.ADDRESSED),
    ("partial", TensionState.ADDRESSED),
    ("addressed", TensionState.ADDRESSED),
    ("acknowledged", TensionState.ADDRESSED),
    ("deferred", TensionState.DEFERRED),
    ("parked", TensionState.DEFERRED),
    ("future work", TensionState.DEFERRED),
    ("resolved", TensionState.RESOLVED),
    ("closed", TensionState.RESOLVED),
    ("settled", TensionState.RESOLVED),
    ("consensus", TensionState.RESOLVED),
    ("converged", TensionState.RESOLVED),
    ("done", TensionState.RESOLVED),
    ("open", TensionState.OPEN),
    ("active", TensionState.OPEN),
    ("pending", TensionState.OPEN),
)
