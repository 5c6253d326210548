"""Turns without headings: lines that begin with the speaker, as in `**Muffin** (UX): Clean`, `> 🧁 Muffin: Clean`.

They count in a round where no heading begins a turn.
"""

from __future__ import annotations

from typing import NamedTuple

from ..text.indents import is_item
from ..text.line_text import PICTORIAL, one_line, to_ascii_width
from ..text.vocabulary import DASHES
from .names import Expert, ExpertNames, split_name

_BOLD = ("**", "__")
_EMOJI = "".join(sorted(PICTORIAL))
_LONGEST = 80


class SpeakerLine(NamedTuple):
    """The speaker, the text beside the name, and the text of the turn in the same line."""

    expert: Expert
    extra: str
    said: str


def speaker_of(line: str, names: ExpertNames) -> SpeakerLine | None:
    """Return the speaker who begins in `line`, or None."""
    text = line.strip()
    body = text.lstrip("> ")
    quoted = body != text
    if body and is_item(body):
        body, quoted = body.partition(" ")[2].lstrip(), True
    bare = body.lstrip(_EMOJI)
    bare = bare[1:] if bare[:3] in ("***", "___") else bare
    if bare[:2] in _BOLD:
        label, said = _bold(bare)
    else:
        label, said = ("", "") if quoted or not body else _plain(body)
    name, extra = split_name(label) if label and len(label) <= _LONGEST else ("", "")
    expert = names.get(name) if name else None
    return SpeakerLine(expert, extra, one_line(said)) if expert else None


def _bold(text: str) -> tuple[str, str]:
    """Return label and words of `**Muffin:** x`, `**Muffin** 🧁 (UX) — x`, `**Muffin**`; otherwise two empty texts."""
    end = text.find(text[:2], 2)
    if end < 0:
        return "", ""
    label, rest = text[2:end].strip(), text[end + 2 :].lstrip(_EMOJI + "*_")
    if label.endswith(":") or not rest:
        return label.rstrip(": "), rest
    beside = rest[: rest.find(")") + 1] if rest[0] == "(" else ""
    rest = rest[len(beside) :].lstrip()
    return (f"{label} {beside}", rest[1:]) if rest[:1] in (":", *DASHES) and rest else ("", "")


def _plain(text: str) -> tuple[str, str]:
    """Return label and words of `Muffin 🧁: x`, and of `🧁 Muffin` alone."""
    label, colon, _ = to_ascii_width(text[:_LONGEST]).partition(":")
    if colon:
        return label, text[len(label) + 1 :]
    return (text, "") if text[:1] in PICTORIAL or text[-1:] in PICTORIAL else ("", "")
