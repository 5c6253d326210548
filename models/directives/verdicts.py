"""The verdict of a review, and an answer that passes, read from text."""

from __future__ import annotations

import re

from ..text.thinking import read_plainly
from ..turns.turn import Decision
from .lines import read_line, spoken_lines, unwrap

_MAX_REASON = 2_000
#: Maximum characters of a text that passes.
_MAX_PASS = 300
_APPROVED = re.compile(
    r"[^\w\s]*\s*(?:(?:my\s+)?(?:verdict|decision|review|result|status)\W+)?(?:approved?)\b(?P<rest>.*)",
    re.IGNORECASE,
)
_APPROVED_ALONE = re.compile(r"\W*(?:lgtm|looks good to me)\W*", re.IGNORECASE)
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|no|won['\u2019]t|can['\u2019]t|don['\u2019]t|isn['\u2019]t|dis)\s*(?:\w+\s+){0,2}approved?\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\W*(?!no\s+(?:further\s+|more\s+)?(?:changes?|issues?|faults?|problems?)\b|not\s+a\s+single\b)"
    r"(?:no\b|not\b|never\b|nope\b|once\b|if\b|when\b|after\b|provided\b|unless\b|as soon as\b|subject to\b|pending\b"
    r"|with (?:the )?(?:changes|condition|exception))",
    re.IGNORECASE,
)
_CHANGE = (
    r"(?:fix|change|add|remove|rename|must|should|need|needs|please|first|correct|update|replace|rewrite|shorten|delete"
    r"|drop|mention|still|(?<!nothing is )missing)"
)
_BUT = re.compile(r"\b(?:but|however|except|although|though)\b", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?P<item>.*)")
_CHANGED = re.compile(rf"\b{_CHANGE}\b", re.IGNORECASE)
_PASS = re.compile(
    r"(?P<i>i(?:['\u2019]ll| will)?\s+)?(?P<word>pass)(?:$|\s*[:.,;!\u2013—-]+\s*|\s*\n\s*)", re.IGNORECASE
)
#: What `Pass` in lower case may be followed by; other sentences are reports, such as `Pass: all tests are green`.
_NOTHING = re.compile(r"nothing (?:new|(?:more |else |further )?to (?:add|say))\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…]+(?:\s+|$)|\n+")


def read_verdict(text: str) -> Decision | None:
    """Return the approval of a text, with its reason; None: it does not approve."""
    plain = read_plainly(text)
    if _APPROVED_ALONE.fullmatch(plain):
        return Decision(satisfied=True)
    lines = [line for line in spoken_lines(plain) if not line.lstrip().startswith(">")]
    approvals = [match["rest"] for line in lines if (match := _APPROVED.fullmatch(unwrap(line)))]
    if not approvals or any(_NEGATED.search(line) for line in lines):
        return None
    rest = approvals[0].strip("*_`~ ")
    items = [
        match["item"]
        for line in lines
        if (match := _LISTED.match(line)) and not _APPROVED.match(match["item"])
    ]
    if (
        rest[:1] not in ("", ":", ".", "!", ",", "-", "\u2013", "—")
        or _CONDITION.match(rest)
        or _limits_approval(rest)
    ):
        return None
    reason = rest.lstrip(":.!,-\u2013— *_").strip()
    if any(_CHANGED.search(item) for item in items) or (items and not reason):
        return None
    return Decision(satisfied=True, reason=reason[:_MAX_REASON])


def _limits_approval(reason: str) -> bool:
    """Return whether a sentence asks for a change behind `but` and the like."""
    limits = ((sentence, _BUT.search(sentence)) for sentence in reason.split("."))
    return any(limit and _CHANGED.search(sentence, limit.end()) for sentence, limit in limits)


def is_pass(text: str) -> bool:
    """Return whether a text passes: `PASS`, with at most one sentence behind it; the word alone in any case."""
    plain = unwrap(text.strip()).strip("[]()\"'*_` \n")
    if len(plain) > _MAX_PASS:
        return False
    match = _PASS.match(plain)
    if match is None:
        return False
    rest = plain[match.end() :].strip(" *_)]")
    if rest and not (match["i"] or match["word"] == "PASS" or _NOTHING.match(rest)):
        return False
    if any(read_line(line) for line in rest.splitlines()):
        return False
    return len([sentence for sentence in _SENTENCE_END.split(rest) if sentence.strip()]) <= 1
