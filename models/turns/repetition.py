"""Messages that bring nothing new: repetitions of earlier messages, and exchanged courtesies. Pure.

A repetition has nearly the same words in the same order. A number, a negation or a symbol that differs is news, and so is
any change in a text with a code block. The time grows with the length of the texts only.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property, lru_cache

#: Minimum share of word pairs that two texts have in common.
_MIN_SHARED = 0.85
#: Maximum characters of a text that is compared by its words; a longer one must be equal.
_MAX_CHARACTERS = 20_000
#: Maximum characters of a text whose words are remembered.
_MAX_REMEMBERED = 2_000
#: Maximum number of words of a courtesy.
_MAX_COURTESY_WORDS = 40

#: A letter of a script without spaces, a word, or a symbol that is no punctuation.
_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W_]+(?:'[^\W_]+)*"
    r"|[^\w\s.,;:!?'\"()\[\]{}*_`~#>\u2026\u2013\u2014\u3000-\u303f-]"
)
_NEGATIONS = frozenset({"no", "not", "never", "nor", "none", "nothing", "without", "cannot"})
_FENCE = "```"

#: Separators of the parts of a text that are judged on their own.
_SEPARATOR = re.compile(r"[.,;:!\n\u2026\u2013\u2014\u3001\u3002]+|\band\b")
_I_AM = r"(?:(?:i'm|i am|we're|we are) )?(?:so |very |always |really )?"
#: Wordings of courtesies, in lower case and without names.
_WORDINGS = (
    # thanks
    r"(?:many |so many |a big |huge )?(?:thanks|thank you|thx|cheers)(?: for (?:all )?(?:your|the|this|that)(?: \w+){1,4})?",
    r"(?:i |we )?(?:really |truly |greatly )?appreciate (?:it|that|this|(?:all )?your(?: \w+){1,4})",
    # answers to thanks
    r"(?:(?:you're|you are) )?(?:most |very )?welcome|(?:don't mention it|no problem|anytime)",
    r"(?:(?:it was|it's been|it is|it's) )?(?:my|our|a) (?:\w+ )?pleasure",
    _I_AM + r"(?:glad|happy|pleased|delighted) to (?:help|assist|hear|see|have helped|be of)(?: \w+){0,4}",
    _I_AM + r"(?:glad|happy|pleased) (?:that )?(?:i|we) could (?:help|assist|contribute)",
    # praise
    (
        r"(?:really |very |what a |that was |this was )?"
        r"(?:great|good|nice|excellent|awesome|fantastic|amazing|wonderful|brilliant|outstanding)"
        r"(?: (?:work|job|point|points|teamwork|discussion|collaboration|session|effort|thinking|stuff))?"
    ),
    r"(?:very )?well (?:done|said|put)|congratulations|congrats|bravo|kudos|keep it up|keep up the \w+ work",
    # farewells
    r"(?:goodbye|good bye|bye|see you|take care|farewell|good luck|best wishes|all the best)(?: (?:soon|later|next time))?",
    r"have a (?:\w+ )?(?:day|evening|weekend|week|one)|until next time",
    _I_AM + r"looking forward to(?: \w+){1,5}",
    r"(?:please )?let (?:me|us) know if (?:you|there)(?: \w+){1,8}|feel free to (?:reach out|ask)(?: \w+){0,4}",
)
_HOW_MUCH = r"(?: (?:indeed|too|as well|so much|very much|a lot|for everything))*"
_COURTESY = re.compile(f"(?:{'|'.join(_WORDINGS)}){_HOW_MUCH}")
#: Words for the others, which are left out as their names are.
_OTHERS = frozenset({"all", "again", "both", "everybody", "everyone", "folks", "team"})


def brings_nothing_new(
    text: str,
    *,
    before: Iterable[str],
    names: Collection[str] = (),
    exactly: bool = False,
    min_words: int = 1,
) -> bool:
    """Return whether a message is only a courtesy, or repeats one of the recent messages.

    Args:
        text: The message.
        before: The recent messages.
        names: Names of the participants, which courtesies may contain.
        exactly: Whether a repetition must have the same words and marks.
        min_words: Minimum number of words of a repetition; shorter texts are not compared.
    """
    if is_courtesy(text, names):
        return True
    own = _Compared(text)
    if not own.words:
        return min_words < 2 and any(text.strip() == other.strip() for other in before)
    return len(own.words) >= min_words and any(_repeats(own, other, exactly=exactly) for other in before)


def is_courtesy(text: str, names: Collection[str] = ()) -> bool:
    """Return whether all of a text is thanks, praise or a farewell.

    Args:
        text: The text.
        names: Names of the participants.
    """
    if len(text) > _MAX_CHARACTERS or "?" in text or any(character.isdigit() for character in text):
        return False
    parts = [
        [word for word in _words(part) if word.isascii() and word[0].isalnum()]
        for part in _SEPARATOR.split(_plain(text))
    ]
    if not any(parts) or sum(map(len, parts)) > _MAX_COURTESY_WORDS:
        return False
    ignored = _ignored_words(tuple(names))
    wordings = [" ".join(word for word in words if word not in ignored) for words in parts]
    return any(wordings) and all(not wording or _COURTESY.fullmatch(wording) for wording in wordings)


@lru_cache(maxsize=256)  # the names of a session are the same in each of its turns
def _ignored_words(names: tuple[str, ...]) -> frozenset[str]:
    return _OTHERS.union(word for name in names for word in _words(name))


class _Compared:
    """A text as it is compared with others."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def words(self) -> list[str]:
        """Its words and symbols."""
        return _words(self.text[:_MAX_CHARACTERS])

    @cached_property
    def telling(self) -> Counter[str]:
        """The words that no repetition changes: numbers, negations and symbols."""
        return Counter(
            word
            for word in self.words
            if word in _NEGATIONS or word.endswith("n't") or not word.replace("'", "").isalpha()
        )

    @cached_property
    def pairs(self) -> Counter[tuple[str, str]]:
        """Its pairs of words that follow each other."""
        return Counter(zip(["", *self.words], [*self.words, ""], strict=True))


# Each message is compared with several later ones.
@lru_cache(maxsize=128)
def _remembered(text: str) -> _Compared:
    return _Compared(text)


def _repeats(own: _Compared, other_text: str, *, exactly: bool) -> bool:
    text = own.text
    if text == other_text or text.split() == other_text.split():
        return True
    longer = max(len(text), len(other_text))
    if exactly or longer > _MAX_CHARACTERS or _FENCE in text or _FENCE in other_text:
        return False
    if min(len(text), len(other_text)) < longer * _MIN_SHARED / 2:
        return False
    other = _remembered(other_text) if len(other_text) <= _MAX_REMEMBERED else _Compared(other_text)
    if own.telling != other.telling:
        return False
    shared = (own.pairs & other.pairs).total()
    return shared >= _MIN_SHARED * max(own.pairs.total(), other.pairs.total())


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()


def _words(text: str) -> list[str]:
    return _TOKEN.findall(_plain(text))
