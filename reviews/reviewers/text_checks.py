"""Wording (long, doubled and unfinished text, two spellings), and numbers: two values of one name, impossible dates.

A value is only compared if the whole sentence says nothing else ("The timeout is 30 s."), or if it is the
default of a code word, within one section. Anything more would compare values of different things.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from ..values.documents.document import Document, Passage, Remark, line_at

#: Maximum words of a sentence.
LONG_SENTENCE = 60
#: Maximum words of a paragraph.
LONG_PARAGRAPH = 250

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_DOUBLED = re.compile(r"(?<![\w'\u2019.-])([^\W\d_]{2,})(?:\s+\1)+(?![\w'\u2019-]|\.\w)", re.IGNORECASE)
#: Words that may be repeated on purpose.
_MAY_DOUBLE = frozenset(
    {"had", "that", "bye", "ha", "no", "very", "many", "much", "really", "so", "blah", "long", "die", "sie"}
)
_QUOTES = frozenset({'""', "''", "\u201c\u201d", "\u2018\u2019", "\u00ab\u00bb", "**", "__"})
_UNFINISHED = re.compile(r"\b(?:TODO|TBD|FIXME)\b(?=:|\s*$)|\b(?:TODO|TBD|FIXME|XXX):", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?:;])[\"')\u201d]*\s+")


def check_sentences(document: Document) -> Iterator[Remark]:
    """Yield sentences and paragraphs that are too long."""
    for passage in document.passages:
        if passage.kind != "paragraph":
            continue
        text = passage.prose
        if (count := len(_WORD.findall(text))) > LONG_PARAGRAPH:
            yield Remark(
                passage.line, "long-paragraph", "info", f"This paragraph has {count} words: split it."
            )
        offset = 0
        for sentence in _SENTENCE_END.split(text):
            offset = text.index(sentence, offset)
            if (count := len(_WORD.findall(sentence))) > LONG_SENTENCE:
                line = line_at(passage.line, text, offset)
                yield Remark(line, "long-sentence", "info", f"This sentence has {count} words: split it.")


def check_repeated_words(document: Document) -> Iterator[Remark]:
    """Yield words that are written twice in a row."""
    for passage in document.passages:
        text = passage.prose
        for hit in _DOUBLED.finditer(text):
            first, second, *_ = hit[0].split()
            is_same = second.islower() and (first == second or first.istitle())
            around = text[max(hit.start() - 1, 0) : hit.start()] + text[hit.end() : hit.end() + 1]
            is_quoted = len(around) == 2 and around in _QUOTES
            if hit[1].lower() not in _MAY_DOUBLE and is_same and not is_quoted:
                line = line_at(passage.line, text, hit.start())
                yield Remark(line, "doubled-word", "medium", f"“{first}” is repeated.")


def check_unfinished(document: Document) -> Iterator[Remark]:
    """Yield places marked as unfinished."""
    for passage in document.passages:
        if hit := _UNFINISHED.search(passage.prose):
            line = line_at(passage.line, passage.prose, hit.start())
            yield Remark(line, "unfinished", "low", f"{hit[0].rstrip(':')}: unfinished text.")


def check_spellings(document: Document) -> Iterator[Remark]:
    """Yield the rarer of two spellings of a word, at its first occurrence."""
    places: dict[str, int] = {}
    counted: Counter[str] = Counter()
    for word, line in sentence_words(document.passages):
        counted[word] += 1
        places.setdefault(word, line)
    by_form: dict[str, set[str]] = {}
    for word in counted:
        by_form.setdefault(_form(word), set()).add(word)
    for spellings in by_form.values():
        usual, *others = sorted(spellings, key=lambda spelling: (-counted[spelling], spelling))
        for other in others:
            message = f"“{other}” is spelled “{usual}” elsewhere."
            yield Remark(places[other], "two-spellings", "low", message)


def sentence_words(passages: tuple[Passage, ...]) -> Iterator[tuple[str, int]]:
    """Yield the words of sentences in lower case; names, which begin with a capital letter, are left out."""
    for passage in passages:
        for number, line in enumerate(passage.prose.split("\n"), passage.line):
            for hit in _WORD.finditer(line):
                starts_sentence = (
                    not line[: hit.start()].strip() or line[: hit.start()].rstrip()[-1] in ".!?:"
                )
                if hit[0].islower() or (starts_sentence and hit[0].istitle()):
                    yield hit[0].lower(), number


def _form(word: str) -> str:
    """Return the same form for `e-mail` and `email`, `colour` and `color`, `organise` and `organize`."""
    joined = word.replace("-", "")
    if len(joined) < len(word):
        return joined
    british = re.sub(r"(?<=\w{3})is(e|es|ed|ing|ation)$", r"iz\1", joined)
    return re.sub(r"(?<=[a-z]{2})our(?=$|s$|ed$|ing$|al$|ful$)", "or", british)


_VALUE = r"(?P<value>\d[\d,_]*(?:\.\d+)?)\s*(?P<unit>%|[A-Za-z\u00b5]{1,12})?"
_SENTENCE = re.compile(
    rf"(?:^|(?<=[.!?]\s)|(?<=\n))(?:The |the )?(?P<name>(?:[A-Za-z`][\w`-]*)(?: [A-Za-z`][\w`-]*){{0,3}})"
    rf"\s(?:is|are|equals|defaults to)\s{_VALUE}(?=[.;!]?(?:\s|$)(?![a-z(]))",
    re.MULTILINE,
)
_DEFAULT = re.compile(
    rf"`(?P<name>[^`\n]{{2,60}})`\s*(?:,\s*)?(?:\(\s*default(?:s? to|:| is)?|defaults to|\(?default:)\s+`?{_VALUE}`?(?=\s*[.;,)])"
)
#: Words that are no name, or point to another sentence.
_VAGUE = frozenset(
    {"it", "this", "that", "there", "which", "these", "those", "result", "output", "answer", "value"}
)

_ISO_DATE = re.compile(r"(?<![\w./-])(\d{4})-(\d{2})-(\d{2})(?![\w-])")
_MONTHS = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTH = "|".join(month.capitalize() for month in _MONTHS)
_DAY = "|".join(day.capitalize() for day in _DAYS)
_WRITTEN_DATE = re.compile(
    rf"(?:\b(?P<weekday>{_DAY}),? )?(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?P<month>{_MONTH}),? (?P<year>[12]\d{{3}})"
    rf"|(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year2>[12]\d{{3}}))\b"
)


class _Value(NamedTuple):
    line: int
    value: str


def check_numbers(document: Document) -> Iterator[Remark]:
    """Yield the later of two different values of one name."""
    first: dict[tuple[str, ...], _Value] = {}
    for key, later in _values(document):
        earlier = first.setdefault(key, later)
        if earlier.value != later.value:
            name, unit = key[0], f" {key[1]}" if key[1] else ""
            message = f"{name} is {later.value}{unit} here, and {earlier.value}{unit} in line {earlier.line}."
            yield Remark(later.line, "contradiction", "medium", message)


def _values(document: Document) -> Iterator[tuple[tuple[str, ...], _Value]]:
    """Yield names with their unit and, for code words, their section; and the values."""
    starts = [heading.line for heading in document.headings]
    for passage in document.passages:
        if passage.kind != "paragraph":
            continue
        text = passage.text
        for hit in _SENTENCE.finditer(text):
            name = hit["name"].casefold().strip("`")
            if not _VAGUE & set(name.split()):
                line = line_at(passage.line, text, hit.start("name"))
                yield (name, _unit(hit), ""), _Value(line, _number(hit))
        for hit in _DEFAULT.finditer(text):
            line = line_at(passage.line, text, hit.start("name"))
            section = str(bisect_right(starts, line))
            yield (f"default of {hit['name']}", _unit(hit), section), _Value(line, _number(hit))


def _unit(hit: re.Match[str]) -> str:
    return (hit["unit"] or "").casefold()


def _number(hit: re.Match[str]) -> str:
    return hit["value"].replace(",", "").replace("_", "").rstrip(".")


def check_dates(document: Document) -> Iterator[Remark]:
    """Yield dates that do not exist, or are on another day of the week."""
    for passage in document.passages:
        text = passage.prose
        for hit in _ISO_DATE.finditer(text):
            if not _is_date(*map(int, hit.groups())):
                line = line_at(passage.line, text, hit.start())
                yield Remark(line, "no-such-date", "medium", f"The date {hit[0]} does not exist.")
        for hit in _WRITTEN_DATE.finditer(text):
            if problem := _problem(hit):
                yield Remark(line_at(passage.line, text, hit.start()), "no-such-date", "medium", problem)


def _problem(hit: re.Match[str]) -> str:
    year, month, day = (hit["year"] or hit["year2"], hit["month"] or hit["month2"], hit["day"] or hit["day2"])
    parts = int(year), _MONTHS.index(month.lower()) + 1, int(day)
    written = " ".join(hit[0].split())
    if not _is_date(*parts):
        return f"The date {written} does not exist."
    weekday = _DAYS[date(*parts).weekday()].capitalize()
    is_right = hit["weekday"] in (None, weekday)
    return "" if is_right else f"{written} is a {weekday}."


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        return bool(date(year, month, day))
    except ValueError:
        return False
