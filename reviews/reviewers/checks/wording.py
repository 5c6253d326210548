"""Wording: long sentences and paragraphs, repeated words, open to-dos, words with two spellings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ...values.documents.document import Document, Passage
from .remark import Remark, line_at

#: Maximum words of a sentence.
LONG_SENTENCE = 60
#: Maximum words of a paragraph.
LONG_PARAGRAPH = 250

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_DOUBLED = re.compile(r"(?<![\w'\u2019.-])([^\W\d_]{2,})(?:\s+\1)+(?![\w'\u2019-]|\.\w)", re.IGNORECASE)
#: Words that may be repeated on purpose.
_MAY_DOUBLE = frozenset({"had", "that", "bye", "ha", "no", "very", "many", "much", "really", "so", "blah"})
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
        place = 0
        for sentence in _SENTENCE_END.split(text):
            place = text.index(sentence, place)
            if (count := len(_WORD.findall(sentence))) > LONG_SENTENCE:
                line = line_at(passage.line, text, place)
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
    for word, line in _words(document.passages):
        counted[word] += 1
        places.setdefault(word, line)
    by_form: dict[str, set[str]] = {}
    for word in counted:
        by_form.setdefault(_form(word), set()).add(word)
    for spellings in by_form.values():
        usual, *others = sorted(spellings, key=lambda it: (-counted[it], it))
        for other in others:
            message = f"“{other}” is spelled “{usual}” elsewhere."
            yield Remark(places[other], "two-spellings", "low", message)


def _words(passages: tuple[Passage, ...]) -> Iterator[tuple[str, int]]:
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
