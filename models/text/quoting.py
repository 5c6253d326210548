"""What a text states itself: without code, quotations, and questions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_QUOTED = (
    re.compile(r'"[^"\n]*"|“[^“”\n]*”|«[^«»\n]*»|„[^„“”\n]*[“”]|\u2018[^\u2018\u2019\n]*\u2019'),
    re.compile(r"(?<!\w)'[^'\n]*'(?!\w)"),
    re.compile(r"(`+)[^`\n]*\1"),
)
_MARKS = ('"“”«»„\u2018\u2019', "'", "`")
#: Marks that end a clause.
_CLAUSE_END = re.compile(r"[.,;:!?\n]")
_SENTENCE_END = re.compile(r"[.!?\n]")
#: Words before a text in its clause after which it is not stated.
_UNSTATED = re.compile(
    r"\b(?:not|never|no|cannot|nobody|without|neither|nor|if|when|once|until|unless|whether|before)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
#: Maximum characters before a text that are examined.
_MAX_BEFORE = 120
_MAX_AFTER = 500
#: Scripts from here on are written without spaces between words.
_FIRST_UNSPACED = "\u2e80"


def states(text: str, phrase: str, *, ignore_case: bool) -> bool:
    """Return whether a text states a phrase: as whole words, not quoted, in code, negated or asked.

    Args:
        text: The text.
        phrase: The words.
        ignore_case: Whether the case of letters is ignored.
    """
    wanted = _pattern(phrase, ignore_case)
    if not wanted.search(text):
        return False
    plain = _without_quotes(text, phrase)
    return any(_is_stated(plain, match, phrase) for match in wanted.finditer(plain))


@lru_cache(maxsize=256)
def _pattern(phrase: str, ignore_case: bool) -> re.Pattern[str]:
    flags = re.IGNORECASE if ignore_case else 0
    before = r"(?<![^\W_])(?<!\w_)" if _is_word(phrase[0]) else ""
    after = r"(?![^\W_]|_\w)" if _is_word(phrase[-1]) else ""
    words = r"\s+".join(map(re.escape, phrase.split())) or re.escape(phrase)
    return re.compile(before + words + after, flags)


def _is_word(letter: str) -> bool:
    return letter.isalnum() and letter < _FIRST_UNSPACED


def _without_quotes(text: str, phrase: str) -> str:
    """Return a text without code and quotations, unless the phrase itself has their marks or the text is JSON."""
    lines = list(_unfenced(text)) if "```" not in phrase else text.split("\n")
    if not phrase.lstrip().startswith(">"):
        lines = ["" if line.lstrip().startswith(">") else line for line in lines]
    plain = "\n".join(lines)
    if text.strip()[:1] + text.strip()[-1:] in ("{}", "[]"):
        return plain
    for pattern, marks in zip(_QUOTED, _MARKS, strict=True):
        if not set(marks) & set(phrase):
            plain = pattern.sub("\n", plain)
    return plain


def _unfenced(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if fence:
            fence = "" if mark == fence else fence
        elif mark in ("```", "~~~"):
            fence = mark
        else:
            yield line


def _is_stated(text: str, match: re.Match[str], phrase: str) -> bool:
    before = _CLAUSE_END.split(text[max(0, match.start() - _MAX_BEFORE) : match.start()])[-1]
    if _UNSTATED.search(before):
        return False
    end = _SENTENCE_END.search(text, match.end(), match.end() + _MAX_AFTER)
    return "?" in phrase or end is None or end[0] != "?"
