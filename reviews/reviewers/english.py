"""Grammar of English documents: only mistakes that can be seen in two or three words. A model reviews the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..values.documents.document import Document, Remark, line_at

_LETTERS = re.compile(r"[^\W\d_]+")
#: Frequent words; at least this share, and one, of an English text. Other languages have few of them.
_USUAL = re.compile(
    r"\b(?:the|and|of|to|for|with|that|this|are|be|from|is|it|can|by|you|as|when|not)\b", re.IGNORECASE
)
_MIN_SHARE = 0.05

#: Begin of a word that is spoken with a consonant: a vowel follows, unlike in initials such as `sql`.
_CONSONANT = (
    r"(?:(?:[bcdfgjklmnprtvwyz]|bl|br|ch|cl|cr|dr|fl|fr|gl|gr|pl|pr|qu|sc|sh|sk|sl|sn|sp|st|str|sw|th|tr|tw|wh|wr)"
    r"[aeiouy]|s[aeou])"
)
_BEFORE = r"(?<![\w'\u2019.*_-])"
_AN = re.compile(rf"{_BEFORE}[Aa]n(?=\s+(?!faq|led\b)({_CONSONANT}[a-z]+)(?![\w(/-]|\.\w))")
#: Words after a letter `a` that is no article (as verbs: "node a emits"), and words that are spoken with a consonant.
_NOT_AFTER_A = (
    r"(?:above|after|against|already|also|along|among|and|around|away|each|either|else|eu\w+|even|every\w*|ewe|except|inside"
    r"|instead|into|itself|often|once|only|onto|other|otherwise|oui\w*|outside|over|[a-z]+[^siua\W]s)\b"
)
_A = re.compile(
    rf"{_BEFORE}a(?=\s+(?!{_NOT_AFTER_A})((?:[aei]|o(?!ne)|un(?!i|a[nr]|til))[a-z]{{3,}})(?![\w(/-]|\.\w))"
)
_END = re.compile(r"[.!?]\s")
#: Words before which `then` is right, and the number of letters before it in which they are looked for.
_CONDITION = re.compile(r"\b(?:if|when|once|unless)\b", re.IGNORECASE)
_MAX_BEFORE = 300
_MORE = "more|less|rather|better|worse|larger|smaller|greater|fewer|higher|lower|longer|shorter|faster|slower|other"
_PRONOUN = "i|you|he|she|it|we|they|this|that|there|which|who"
#: Wrong words by pattern, with what is meant.
_PHRASES = tuple(
    (re.compile(rf"(?<![\w'\u2019*-])(?:{pattern})(?![\w'\u2019*-])", re.IGNORECASE), meant)
    for pattern, meant in (
        (rf"(?:{_MORE})\s+then(?=\s+(?:a|an|the|one|two|it|that|this|you|we|they|what|in|\d+)\b)", "than"),
        (
            rf"(?:could|should|would|(?:{_PRONOUN})\s+(?:must|might))\s+of(?!\s+course)",
            "have",
        ),
        (
            r"more\s+that\s+(?:one|two|three|\d+)(?=\s+[a-z])(?!\s+(?:can|could|may|will|would|is|has|must))",
            "more than",
        ),
        (
            r"(?:does|did|can|could|will|should|must)\s+not\s+[a-z]{2,}[^siua\W]s(?=\s+(?:the|a|an|any)\b)",
            "the infinitive",
        ),
        (r"(?:has|have)\s+(?:went|did|saw|gave|took|wrote|began|broke|chose)", "the participle"),
        (r"it['\u2019]s\s+own", "its own"),
        (r"depend(?:s|ed|ing)?\s+from", "on"),
        (r"an?\s+other", "another"),
        (
            r"(?:the\s+(?-i:an)|an?\s+the)(?=\s+[a-z])(?!\s+(?:priori|posteriori|la|tag|element|record)\b)",
            "one article",
        ),
        (r"lets\s+(?:say|assume|suppose|take a look|look at)", "let us"),
    )
)


def is_english(document: Document) -> bool:
    """Return whether a document is English text, and no text of another language or list of names."""
    prose = "\n".join(passage.prose for passage in document.passages)
    count = len(_LETTERS.findall(prose))
    return len(_USUAL.findall(prose)) >= max(1, _MIN_SHARE * count)


def check_grammar(document: Document) -> Iterator[Remark]:
    """Yield articles that do not fit the next word, and confused words."""
    if not is_english(document):
        return
    for passage in document.passages:
        text = passage.prose
        for offset, message in _mistakes(text):
            yield Remark(line_at(passage.line, text, offset), "grammar", "low", message)


def _mistakes(text: str) -> Iterator[tuple[int, str]]:
    for pattern, article in ((_AN, "a"), (_A, "an")):
        for hit in pattern.finditer(text):
            yield hit.start(), f"“{hit[0]} {hit[1]}”: write “{article} {hit[1]}”."
    for phrase, meant in _PHRASES:
        for hit in phrase.finditer(text):
            sentence = _END.split(text[max(hit.start() - _MAX_BEFORE, 0) : hit.start()])[-1]
            if meant != "than" or not _CONDITION.search(sentence):
                yield hit.start(), f"“{' '.join(hit[0].split())}”: {meant} is meant."
