"""Small readings of one line of text: emoji, escapes, decoration, hidden spans."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

#: Blocks of code points that hold emoji.
_BLOCKS = (
    (0x00A9, 0x00A9), (0x00AE, 0x00AE), (0x203C, 0x203C), (0x2049, 0x2049), (0x231A, 0x23FF), (0x25AA, 0x25FE),
    (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x3030, 0x303D), (0x3297, 0x3299), (0x1F000, 0x1FAFF),
)  # fmt: skip
#: The marks that join and colour them.
_MARKS = ((0x200D, 0x200D), (0x20E3, 0x20E3), (0xFE0E, 0xFE0F), (0xE0020, 0xE007F))
_EMOJI = frozenset(chr(code) for first, last in _BLOCKS for code in range(first, last + 1))
#: Emoji, their marks, and the space between them.
PICTORIAL = _EMOJI | {chr(code) for first, last in _MARKS for code in range(first, last + 1)} | {" "}
#: Blocks of faces, people, animals, plants and food: an expert goes by one of these, a topic by a thing.
_PERSONS = (
    (0x1F32D, 0x1F37F),
    (0x1F400, 0x1F43F),
    (0x1F466, 0x1F487),
    (0x1F600, 0x1F64F),
    (0x1F910, 0x1F9DF),
    (0x1FAB0, 0x1FADF),
)
_DECORATION = "*_ \t"
#: Characters of East Asian keyboards and spaces outside ASCII, with their ASCII equivalents.
_NARROW = {
    code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1B), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
}
_NARROW |= str.maketrans(
    "［］【】（），、；－～．＃／＆＋｜＝　\u00a0\u2007\u202f\u2009", "[][](),,;-~.#/&+|=     "
)
_WIDE = frozenset(map(chr, _NARROW))


def one_line(text: str) -> str:
    """Return `text` on one line: every run of white space becomes one space."""
    return " ".join(text.split())


def to_ascii_width(text: str) -> str:
    """Return `text` with full-width letters, digits and signs as ASCII; every character keeps its place."""
    return text if text.isascii() or _WIDE.isdisjoint(text) else text.translate(_NARROW)


def has_bracket(text: str) -> bool:
    """Return whether `text` may contain a marker."""
    return "[" in text or (not text.isascii() and ("［" in text or "【" in text))


def without_spaces(text: str) -> str:
    """Return `text` without any white space, for comparisons that ignore spacing."""
    return "".join(text.split())


def is_emoji(text: str) -> bool:
    """Return True for one emoji or several without a space."""
    return not _EMOJI.isdisjoint(text) and PICTORIAL.issuperset(text) and " " not in text


def is_person(emoji: str) -> bool:
    """Return True for an emoji that represents a person: a face, an animal, a plant or food."""
    return any(first <= ord(emoji[:1] or " ") <= last for first, last in _PERSONS)


def split_emoji(text: str) -> tuple[str, str]:
    """Return `text` without the emoji at either end, and the first of them: `🧁 Muffin` -> `Muffin`, `🧁`."""
    text = plain(text)
    if text.isascii():
        return text, ""
    start, end = 0, len(text)
    while start < end and text[start] in PICTORIAL:
        start += 1
    while end > start and text[end - 1] in PICTORIAL:
        end -= 1
    emoji = [word for word in (text[:start] + " " + text[end:]).split() if is_emoji(word)]
    return text[start:end], emoji[0] if emoji else ""


def plain(text: str) -> str:
    """Return `text` on one line without the stars and underscores around it: `**Total**` -> `Total`."""
    return one_line(one_line(text).strip(_DECORATION).replace("**", ""))


def escape(text: str, special: str) -> str:
    """Return `text` with a backslash before every special character; `unescape` removes them."""
    if not any(c in text for c in special) and "\\" not in text:
        return text
    out: list[str] = []
    for i, c in enumerate(text):
        following = text[i + 1 : i + 2]
        if c in special or (c == "\\" and (not following or following == "\\" or following in special)):
            out.append("\\")
        out.append(c)
    return "".join(out)


def unescape(text: str, special: str) -> str:
    r"""Return `text` without the backslashes before special characters and backslashes; `C:\new` stays."""
    if "\\" not in text:
        return text
    out: list[str] = []
    i = 0
    while i < len(text):
        if text[i] == "\\" and i + 1 < len(text) and (text[i + 1] == "\\" or text[i + 1] in special):
            i += 1
        out.append(text[i])
        i += 1
    return "".join(out)


def blank_escapes(text: str) -> str:
    """Return `text` with every backslash and the character it protects blanked out, to find unprotected ones."""
    if "\\" not in text:
        return text
    out, i = list(text), 0
    while i < len(text):
        if text[i] == "\\":
            out[i : i + 2] = "\0" * len(out[i : i + 2])
            i += 1
        i += 1
    return "".join(out)


def escape_if_needed(text: str, special: str, *, reads_back: Callable[[str], bool]) -> str:
    """Return `text` unchanged if it reads back the same; otherwise with its special characters escaped."""
    return text if reads_back(text) else escape(text, special)


class HiddenSpans:
    """The code spans and HTML comments of one line: nothing in them is markup.

    A backslash before a backtick changes nothing here, so that escaping a line cannot move its spans.
    """

    def __init__(self, line: str) -> None:
        spans = [*_code_spans(line), *_comments(line)] if "`" in line or "<!--" in line else []
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if not self._ends or start >= self._ends[-1]:
                self._starts.append(start)
                self._ends.append(end)

    def __bool__(self) -> bool:
        return bool(self._starts)

    def __contains__(self, index: int) -> bool:
        at = bisect_right(self._starts, index) - 1
        return at >= 0 and index < self._ends[at]


def _code_spans(line: str) -> list[tuple[int, int]]:
    """Return the spans from each run of backticks to the next of the same length, in one pass over the runs."""
    runs = _runs(line, "`")
    following: list[int | None] = [None] * len(runs)
    last: dict[int, int] = {}
    for at in range(len(runs) - 1, -1, -1):
        length = runs[at][1] - runs[at][0]
        following[at] = last.get(length)
        last[length] = at
    spans, at = [], 0
    while at < len(runs):
        closer = following[at]
        if closer is not None:
            spans.append((runs[at][0], runs[closer][1]))
        at = at + 1 if closer is None else closer + 1
    return spans


def _runs(line: str, character: str) -> list[tuple[int, int]]:
    runs, i = [], line.find(character)
    while i >= 0:
        end = i + 1
        while end < len(line) and line[end] == character:
            end += 1
        runs.append((i, end))
        i = line.find(character, end)
    return runs


def _comments(line: str) -> list[tuple[int, int]]:
    spans, start = [], line.find("<!--")
    while start >= 0 and (end := line.find("-->", start + 4)) >= 0:
        spans.append((start, end + 3))
        start = line.find("<!--", end + 3)
    return spans


_BULLETS = ("-", "*", "+", "•")


def is_item(body: str) -> bool:
    """Return True for an item of a list; a backslash that protects its line takes nothing from that."""
    bullet = body.lstrip("\\").partition(" ")[0] if body[0] in "-*+•\\0123456789" else ""
    return bullet in _BULLETS or (bullet[-1:] in (".", ")") and bullet[:-1].isdecimal() and len(bullet) < 11)
