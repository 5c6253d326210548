"""Every heading of an expert or a round is read, or lint reports it: no words are counted for another expert silently."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scaling import scaled_examples
from symposia.alignment.document import Judge, Round, Turn, fix, lint, parse, scan
from symposia.models.errors import InvalidInput

SAMPLES = Path(__file__).parents[3].parent / "shared" / "dialogues"
PANEL = "# T\n\n## Expert Panel\n\n| ID | Name | Role |\n|---|---|---|\n| E1 | 🧁 Muffin | A |\n| E2 | 🍰 Cake | B |\n\n"
ROUND = f"{PANEL}## Round 1: X\n\n### Muffin 🧁\n\n[PERSPECTIVE P01: a]\n\n"
#: Lines, each with the expert who speaks below it; None: that of the lines above.
HEADINGS = {
    "### Muffin 🧁": "Muffin",
    "### Cake": "Cake",
    "### Scone 🍪": "Scone",
    "### Dr. Pie (Baker) 🥧": "Dr. Pie",
    "### Volt ⚡": "Volt",
    "#### Tart 🍓": "Tart",
    "### Muffin & Cake": "Muffin",
    "### Scone the baker 🍪": "Scone",
    "## Opening statements": None,
    "## Round 1.5": None,
    "## Round 1: X": None,
    "### Round 3 (10 experts)": None,
    "## Final Positions": None,
    "## Lessons from Round 1": None,
}


def codes(text: str) -> list[tuple[str, int]]:
    return [(it.code.value, it.line) for it in lint(text, strict=True)]


SECTIONS = [line for line in HEADINGS if line.startswith("## ")]


@given(st.sampled_from(SECTIONS), st.lists(st.sampled_from(list(HEADINGS)), max_size=7))
@settings(max_examples=scaled_examples(400), deadline=None, suppress_health_check=list(HealthCheck))
def test_marker_is_counted_for_its_expert_or_reported(first, others):
    lines = [first, *others]
    text = PANEL + "".join(f"{line}\n\n[PERSPECTIVE P{at:02}: x]\n\n" for at, line in enumerate(lines))
    markers = {marker.ids[0]: marker for marker in parse(text).markers}
    findings, speaker, begun = {line for _, line in codes(text)}, None, 0
    for at, line in enumerate(lines):
        number = PANEL.count("\n") + 1 + 4 * at
        begun = number if line.startswith("## ") or not begun else begun
        speaker = HEADINGS[line] or (None if line.startswith("## ") else speaker)
        marker = markers[f"P{at:02}"]
        reported = findings & {*range(begun, marker.line + 1)}
        assert marker.agent == speaker or reported, (line, marker)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample dialogues are not beside the checkout")
def test_headings_of_the_samples_are_read_or_reported():
    checked = 0
    for path in sorted(SAMPLES.rglob("*.md")):
        text = path.read_bytes().decode()
        document = parse(text)
        reported = {line for _, line in codes(text)}
        read = {it.line for it in document.parts} | {it.line for part in document.rounds for it in part.turns}
        names = {agent for part in document.rounds for agent in part.agents}
        starts = sorted((part.line, isinstance(part, Judge)) for part in document.parts)
        for line in scan(text):
            words = line.raw.strip().split()
            spoken = not line.fenced and words[:1] == ["###"] and {*words[1:3]} & names
            discussed = next((judge for at, judge in reversed(starts) if at <= line.number), False)
            if spoken and not discussed:
                assert line.number in read | reported, (path.name, line.raw)
                checked += 1
    assert checked > 100


@pytest.mark.parametrize("emoji", ["⚡", "⚖️", "⚙️", "⭐", "✨", "✅"])
def test_fix_keeps_the_emoji_of_the_author(emoji):
    panel = PANEL.replace("🍰", emoji)
    text = f"{panel}## Round 1: X\n\n### Cake {emoji}\n\nx\n\n### Muffin {emoji}\n\ny\n"
    assert fix(text) == text
    assert [it.emoji for it in parse(text).rounds[0].turns] == [emoji, emoji]
    assert f"### Muffin 🧁 — {emoji}\n" in fix(text.replace(f"Muffin {emoji}", f"🧁 Muffin {emoji}"))


def test_judge_emoji_is_refused_for_an_expert():
    with pytest.raises(InvalidInput, match="must be one emoji"):
        Turn("Cake", "💙")


def test_unknown_expert_is_read_and_reported():
    text = f"{ROUND}### Scone 🍪\n\n[PERSPECTIVE P02: b]\n"
    assert [(it.agent, it.ids) for it in parse(text).markers] == [("Muffin", ("P01",)), ("Scone", ("P02",))]
    assert codes(text) == [("agent-unknown", text.split("\n").index("### Scone 🍪") + 1)]
    assert codes(f"{ROUND}### Storage 💾\n\nx\n") == [], "the topic of the speaker above"


@pytest.mark.parametrize("before", ["", "## Round 1: X\n\n### Muffin 🧁\n\na\n\n"])
def test_round_in_another_section_stays_its_text(before):
    text = f"{PANEL}{before}## Velocity\n\n### Round 0 (10 experts)\n\nx\n\n### Round 1 (2 experts)\n\ny\n"
    assert fix(text) == text
    assert not any(
        isinstance(part, Round) for part in parse(text.replace(before, "") if before else text).parts
    )
    assert ("round-unread", text.split("\n").index("### Round 0 (10 experts)") + 1) in codes(text)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("## Opening statements\n\n### Muffin 🧁\n\nx\n", "round-unclear"),
        ("## Round 1.5\n\n### Muffin 🧁\n\nx\n", "round-unread"),
        ("## Round 1: X\n\n**E1**: x\n", "turn-unread"),
        ("## Round 1: X\n\n**Expert 2 (B):** x\n", "turn-unread"),
        ("## Round 1: X\n\n[TENSION T01: x]\n", "turn-unread"),
        ("## Opening\n\n**Muffin**: x\n\n[TENSION T01: x]\n", "turn-unread"),
    ],
)
def test_expert_who_speaks_outside_of_turns_is_reported(said, code):
    assert code in {found for found, _ in codes(PANEL + said)}
