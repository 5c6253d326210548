"""What a model adds around its own text: frames and names that it copies from its prompt, and lines of others. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..protocol.collab import Participant

_FRAME = r"(?:message|turn|note|seat|task)"
_OPENED = re.compile(rf"\s*<{_FRAME}(?:\s(?P<fields>[^<>\n]{{0,500}}))?>[ \t]*\n?", re.IGNORECASE)
_CLOSED = re.compile(rf"\n?[ \t]*</{_FRAME}>\s*\Z", re.IGNORECASE)
_FROM = re.compile(r"""\bfrom\s*=\s*["']?([^"'\s>]{1,200})""", re.IGNORECASE)
#: Maximum number of frames and names that are taken off one text.
_MAX_LAYERS = 4


def without_frame(text: str, me: Participant) -> str:
    """Return a text without copied tags around it, and without its author's name in front."""
    plain = text.strip()
    for _ in range(_MAX_LAYERS):
        before = plain
        opened = _OPENED.match(plain)
        if opened and not _is_of_another(opened, me):
            plain = _CLOSED.sub("", plain[opened.end() :], count=1)
        plain = _CLOSED.sub("", plain, count=1) if not _has_opening(plain) else plain
        plain = _without_name(plain.strip(), me)
        if plain == before:
            break
    return plain


def _is_of_another(opened: re.Match[str], me: Participant) -> bool:
    author = _FROM.search(opened["fields"] or "")
    return author is not None and author[1].casefold() not in _names(me)


def _has_opening(text: str) -> bool:
    return re.search(rf"<{_FRAME}[\s>]", text, re.IGNORECASE) is not None


def _names(participant: Participant) -> set[str]:
    return {name.casefold() for name in (participant.participant_id, participant.display_name) if name}


def _without_name(text: str, me: Participant) -> str:
    head, colon, _ = text[:500].partition(":")
    if not colon or head.strip("*_ ").casefold() not in _names(me):
        return text
    return text[len(head) + 1 :].removeprefix("**").strip()


def cut_voices(text: str, roster: Sequence[Participant], me: Participant) -> tuple[str, int]:
    """Return a text up to the lines that it writes in the name of others, and the number of these lines.

    A line counts if it begins with the name of another and a colon, after own text or beside another such line, or with
    a message tag of another. Lists, quotations, code, and lines that own text announces with a colon stay.

    Args:
        text: The answer of one participant.
        roster: All participants.
        me: The author.
    """
    others = {name for p in roster if p.participant_id != me.participant_id for name in _names(p)} - _names(
        me
    )
    lines = text.split("\n")
    voices = [at for at in _unfenced(lines) if _is_voice(lines[at], others)]
    for at in voices:
        before = [line for line in lines[:at] if line.strip()]
        announced = bool(before) and before[-1].rstrip().endswith(":")
        following = next((n for n in range(at + 1, len(lines)) if lines[n].strip()), None)
        is_tag = lines[at].lstrip().startswith("<")
        if is_tag or (before and not announced) or (not before and following in voices):
            return "\n".join(lines[:at]).rstrip(), sum(voice >= at for voice in voices)
        if announced:
            return text, 0
    return text, 0


def _unfenced(lines: Sequence[str]) -> Iterator[int]:
    fenced = False
    for at, line in enumerate(lines):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield at


def _is_voice(line: str, others: set[str]) -> bool:
    if line[:1] == "<":
        opened = _OPENED.match(line)
        author = _FROM.search(opened["fields"] or "") if opened else None
        return author is not None and author[1].casefold() in others
    head, colon, _ = line[:500].partition(":")
    return bool(colon) and head.rstrip().strip("*_").casefold() in others
