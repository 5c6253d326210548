"""The agents `clarity`, `consistency` and `facts`: they review a document by rules, without a model.

They review the first fenced block of the dialog's first user message, as `reviews` creates it. Code inside
the document is not reviewed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from ...models.protocol.dialog import Role
from ...models.turns.turn import TurnContext
from .code import fenced_blocks

#: Maximum words of a sentence.
LONG_SENTENCE = 45
#: Maximum words of a paragraph.
LONG_PARAGRAPH = 250

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_DOUBLED = re.compile(r"\b(\w{2,})\s+\1\b", re.IGNORECASE)
#: Words that may be repeated on purpose.
_MAY_DOUBLE = frozenset({"had", "that", "bye", "ha", "no", "very"})
_UNFINISHED = re.compile(r"\b(?:TODO|TBD|FIXME|XXX)\b")
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*")
_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_ANCHOR = re.compile(r"\]\(#([^)\s]+)\)")
_REFERENCE = re.compile(r"\]\[([^\]]+)\]")
_DEFINITION = re.compile(r"^\s*\[([^\]]+)\]:", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_CODE = re.compile(r"`[^`]*`")


class Remark(NamedTuple):
    """A problem found in a document."""

    line: int
    rule: str
    severity: str
    message: str


#: Lines of a document; lines of code are empty.
Lines = Sequence[str]


def clarity(turn: TurnContext) -> str | None:
    """Report sentences and paragraphs that are too long, doubled words, and open to-dos."""
    return _review_document(turn, _check_clarity)


def consistency(turn: TurnContext) -> str | None:
    """Report words with two spellings, and headings that skip a level."""
    return _review_document(turn, _check_consistency)


def facts(turn: TurnContext) -> str | None:
    """Report impossible dates, and links to missing places of the document."""
    return _review_document(turn, _check_facts)


def _review_document(turn: TurnContext, look: Callable[[Lines], Iterator[Remark]]) -> str | None:
    opening = next((it.content for it in turn.messages if it.role is Role.USER), "")
    text = next((body for _, body in fenced_blocks(opening)), "")
    if not text.strip():
        return None
    remarks = sorted(look(_without_code(text)))
    summary = f"{turn.me.participant_id} found {len(remarks) or 'nothing'} to fix"
    return json.dumps({"findings": [it._asdict() for it in remarks], "summary": summary})


def _without_code(text: str) -> list[str]:
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            lines.append("")
        elif mark:
            fence = mark[1]
            lines.append("")
        else:
            lines.append(_CODE.sub("code", line))
    return lines


def _paragraphs(lines: Lines) -> Iterator[tuple[int, list[str]]]:
    """Yield each paragraph with its first line number. List items count, headings and tables do not."""
    start, gathered = 0, list[str]()
    for number, line in enumerate([*lines, ""], 1):
        alone = line.lstrip()[:1] in ("#", "|", "-", "*", "+", ">") or not line.strip()
        if alone and gathered:
            yield start, gathered
            gathered = []
        if line.strip() and not line.lstrip().startswith(("#", "|")):
            start = start if gathered else number
            gathered.append(line)


def _check_clarity(lines: Lines) -> Iterator[Remark]:
    for start, paragraph in _paragraphs(lines):
        text = "\n".join(paragraph)
        if (count := len(_WORD.findall(text))) > LONG_PARAGRAPH:
            yield Remark(start, "long-paragraph", "info", f"This paragraph has {count} words: split it.")
        place = 0
        for sentence in _SENTENCE_END.split(text):
            place = text.index(sentence, place)
            if (count := len(_WORD.findall(sentence))) > LONG_SENTENCE:
                line = start + text.count("\n", 0, place)
                yield Remark(line, "long-sentence", "low", f"This sentence has {count} words: split it.")
        for hit in _DOUBLED.finditer(text):
            if hit[1].lower() not in _MAY_DOUBLE:
                line = start + text.count("\n", 0, hit.start())
                yield Remark(line, "doubled-word", "medium", f"“{hit[1]}” is repeated.")
    for number, text in enumerate(lines, 1):
        if left := _UNFINISHED.search(text):
            yield Remark(number, "unfinished", "low", f"{left[0]}: unfinished text.")


def _check_consistency(lines: Lines) -> Iterator[Remark]:
    yield from _two_spellings(lines)
    before = 0
    for number, line in enumerate(lines, 1):
        if heading := _HEADING.fullmatch(line):
            level = len(heading[1])
            if before and level > before + 1:
                yield Remark(
                    number,
                    "skipped-level",
                    "low",
                    f"Heading levels skipped: level {level} follows level {before}.",
                )
            before = level


def _two_spellings(lines: Lines) -> Iterator[Remark]:
    """Yield the rarer of two spellings of a word, at its first occurrence."""
    places: dict[str, int] = {}
    counted: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        for word in map(str.lower, _WORD.findall(line)):
            counted[word] += 1
            places.setdefault(word, number)
    by_form: dict[str, set[str]] = {}
    for word in counted:
        by_form.setdefault(_form(word), set()).add(word)
    for spellings in by_form.values():
        if len(spellings) > 1:
            usual, *others = sorted(spellings, key=lambda it: (-counted[it], it))
            for other in others:
                message = f"“{other}” is spelled “{usual}” elsewhere."
                yield Remark(places[other], "two-spellings", "low", message)


def _form(word: str) -> str:
    """Return the same form for `e-mail` and `email`, `colour` and `color`, `organise` and `organize`."""
    joined = word.replace("-", "")
    if len(joined) < len(word):
        return joined
    british = re.sub(r"(?<=\w{3})is(e|es|ed|ing|ation)$", r"iz\1", joined)
    return re.sub(r"(?<=[a-z]{2})our(?=$|s$|ed$|ing$|al$|ful$)", "or", british)


def _check_facts(lines: Lines) -> Iterator[Remark]:
    text = "\n".join(lines)
    anchors = {_slug(heading[2]) for line in lines if (heading := _HEADING.fullmatch(line))}
    labels = {label.casefold() for label in _DEFINITION.findall(text)}
    for number, line in enumerate(lines, 1):
        for year, month, day in _DATE.findall(line):
            if not _is_date(int(year), int(month), int(day)):
                yield Remark(
                    number, "no-such-date", "medium", f"The date {year}-{month}-{day} does not exist."
                )
        for anchor in _ANCHOR.findall(line):
            if anchor.lower() not in anchors:
                yield Remark(number, "dead-link", "medium", f"No heading matches #{anchor}.")
        for label in _REFERENCE.findall(line):
            if label.casefold() not in labels:
                yield Remark(number, "dead-link", "medium", f"[{label}] is not defined.")


def _slug(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        return bool(date(year, month, day))
    except ValueError:
        return False
