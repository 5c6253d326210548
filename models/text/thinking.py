"""Thoughts of a model in its text, in the tag forms of models; they are removed from whole texts and from streams.

`<think>`, `<thinking>`, `<reasoning>` and the like, `[THINK]`, `◁think▷`, `<|begin_of_thought|>`, a fence that is marked
as thinking, and the channels of `<|channel|>analysis`. A thought that is not closed ends with the text. A text that
closes a thought without opening one begins with the thought: chat templates open it in the prompt. Tags in inline code
or within a fence are text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

_NAMES = "think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis"
_CHANNEL_END = r"<\|channel\|>\s*final\s*(?:<\|message\|>)?"
#: Beginning of a thought -> its end.
_FORMS = {
    rf"<\s?(?:\w{{1,20}}:)?(?:{_NAMES})(?:\s[^<>\n]{{0,100}})?>": rf"<\s?/\s?(?:\w{{1,20}}:)?(?:{_NAMES})\s?>",
    r"<\|begin_of_thought\|>": r"<\|end_of_thought\|>",
    r"\[THINK(?:ING)?\]": r"\[/THINK(?:ING)?\]",
    r"◁think(?:ing)?▷": r"◁/think(?:ing)?▷",
    r"(?:<\|start\|>\s?assistant\s?)?<\|channel\|>\s*(?:analysis|commentary)[^<\n]{0,100}(?:<\|message\|>)?": _CHANNEL_END,
    r"(?:(?<=\n)|\A)[ \t]{0,40}```[ \t]*(?:think|thinking|thoughts?|reasoning)[ \t]*\n": r"```[ \t]*(?=\n|\Z)",
}
_OPENED = re.compile("|".join(f"(?P<o{at}>{opened})" for at, opened in enumerate(_FORMS)), re.IGNORECASE)
_ENDS = [re.compile(end, re.IGNORECASE) for end in _FORMS.values()]
_ENDED = re.compile("|".join(list(_FORMS.values())[:4]), re.IGNORECASE)
#: Frames of the answer itself, around which thoughts stand.
_FRAMES = re.compile(
    rf"(?:<\|start\|>\s?assistant\s?)?{_CHANNEL_END}|<\|(?:end|return|message)\|>|<\|(?:begin|end)_of_solution\|>",
    re.IGNORECASE,
)
_NEXT = re.compile(
    rf"(?P<open>{_OPENED.pattern})|(?P<fence>(?:(?<=\n)|\A)[ \t]{{0,40}}(?P<marks>```+|~~~+))|(?P<code>`+)"
    rf"|(?P<frame>{_FRAMES.pattern})|(?P<close>{_ENDED.pattern})",
    re.IGNORECASE,
)
#: Characters with which a tag begins, those with which a fence may be indented, and the maximum length of a tag.
_FIRST = "<[◁`~"
_BLANKS = " \t"
_MAX_TAG = 160
#: Text that may become a tag.
_PARTIAL = re.compile(
    rf"<\s?/?\s?[\w:]{{0,41}}\s?|<\s?(?:\w{{1,20}}:)?(?:{_NAMES})\s[^<>\n]{{0,100}}|<\|[^\n]{{0,{_MAX_TAG}}}"
    r"|\[/?[a-z]{0,8}|◁/?[a-z]{0,8}|(?:`+|~+)[ \t]*\w{0,20}[ \t]*"
    r"|(?:(?<=\n)|\A)[ \t]{1,40}(?:(?:`+|~+)[ \t]*\w{0,20}[ \t]*)?",
    re.IGNORECASE,
)
#: Maximum characters of inline code.
_MAX_CODE = 2_000
_FENCE_ENDS = {marks: re.compile(rf"\n[ \t]*{marks}[^\n]*(?=\n|\Z)") for marks in ("```", "~~~")}


@dataclass(frozen=True, slots=True)
class ClosedThought:
    """A closing tag without an opening one: its place in text and output, and whether its line ends with it."""

    begin: int
    end: int
    shown: int
    is_alone: bool


@dataclass(slots=True)
class ThinkingFilter:
    """Filter that removes thoughts from text which arrives in pieces.

    Its time grows with the length of the text only.
    """

    #: Newest part of the text, and the place in it up to which it is examined.
    _text: str = ""
    _at: int = 0
    #: Length of the text before that part, and of the output.
    _before: int = 0
    _shown: int = 0
    #: End of the thought or fence in progress; None: text.
    _end: re.Pattern[str] | None = None
    #: Whether what is in progress is a thought, which is removed.
    _is_thought: bool = False
    _pieces: list[str] = field(default_factory=list)
    #: Thoughts that were closed without being opened.
    closed: list[ClosedThought] = field(default_factory=list)

    def feed(self, piece: str, *, last: bool = False) -> str:
        """Return the next text without thoughts.

        Args:
            piece: The next piece of the text.
            last: Whether the text ends with it; else the end is held back if it may be the beginning of a tag.
        """
        self._text += piece
        while self._read_thought(last=last) if self._end else self._read_text(last=last):
            pass
        if self._at > 1:  # the character before decides whether a line begins
            self._before += self._at - 1
            self._text, self._at = self._text[self._at - 1 :], 1
        shown, self._pieces = "".join(self._pieces), []
        return shown

    def after_closed(self, shown: str) -> str:
        """Return the part of the newest output that follows the last thought that was closed without being opened."""
        return shown[max(0, len(shown) - (self._shown - self.closed[-1].shown)) :]

    def _read_text(self, *, last: bool) -> bool:
        """Read up to the next mark and through it; return whether there may be another one."""
        match = _NEXT.search(self._text, self._at)
        limit = len(self._text) if last else self._safe_end()
        if match is None or match.start() >= limit or (not last and match.end() >= limit):
            self._take(limit if match is None else max(self._at, min(limit, match.start())))
            return False
        self._take(match.start())
        if match["code"]:
            return self._read_code(match["code"], match.end(), last=last)
        self._take(match.end(), show=bool(match["fence"]))
        if match["fence"]:
            self._end, self._is_thought = _FENCE_ENDS[match["marks"][:3]], False
        elif match["open"]:
            number = next(at for at in range(len(_ENDS)) if match[f"o{at}"] is not None)
            self._end, self._is_thought = _ENDS[number], True
        elif match["close"]:
            is_alone = self._text[self._at : self._at + 1] in ("", "\n")
            self.closed.append(
                ClosedThought(self._before + match.start(), self._before + self._at, self._shown, is_alone)
            )
        return True

    def _read_code(self, marks: str, begin: int, *, last: bool) -> bool:
        """Read inline code, which ends on its line, or else is text."""
        stop = re.compile(rf"(?<!`){marks}(?!`)|\n").search(self._text, begin, begin + _MAX_CODE)
        is_open = stop is None or (stop[0] != "\n" and stop.end() == len(self._text))  # more marks may follow
        if is_open and not last and len(self._text) < begin + _MAX_CODE:
            return False
        self._take(stop.end() if stop is not None and stop[0] != "\n" else begin)
        return True

    def _read_thought(self, *, last: bool) -> bool:
        """Read a thought or a fence to its end; return whether the end was found."""
        assert self._end is not None  # noqa: S101 - the caller has checked it
        match = self._end.search(self._text, self._at)
        if match is None or (not last and match.end() >= len(self._text)):
            self._take(max(self._at, len(self._text) - (0 if last else _MAX_TAG)), show=not self._is_thought)
            return False
        self._take(match.end(), show=not self._is_thought)
        self._end = None
        return True

    def _take(self, end: int, *, show: bool = True) -> None:
        """Take the text up to a place, and show it or leave it out."""
        if show:
            self._pieces.append(self._text[self._at : end])
            self._shown += end - self._at
        self._at = end

    def _safe_end(self) -> int:
        """Return where the last tag may begin that is not complete."""
        begin = max(self._at, len(self._text) - _MAX_TAG)
        places = (at for at in range(begin, len(self._text)) if self._text[at] in _FIRST + _BLANKS)
        return next((at for at in places if _PARTIAL.fullmatch(self._text, at)), len(self._text))


def without_thinking(text: str) -> str:
    """Return a text without the thoughts of the model that wrote it.

    A closing tag without an opening one ends a thought that began with the text, if it stands in the first half or
    alone at the end of its line.
    """
    if not any(first in text for first in _FIRST):
        return text
    reader = ThinkingFilter()
    shown = reader.feed(text, last=True)
    for closed in reversed(reader.closed):
        if closed.begin <= len(text) / 2 or (closed.is_alone and text[closed.end :].strip()):
            return shown[closed.shown :].strip()
    return shown if shown == text else shown.strip()


#: Colours of a terminal; the escape character is removed from messages, or was replaced by earlier versions.
_COLOURS = re.compile("[\x1b\ufffd]\\[[0-9;]{0,20}[A-Za-z]")


def read_plainly(text: str) -> str:
    """Return a text for the search for directives: without thoughts, colours and escapes of Markdown."""
    plain = without_thinking(_COLOURS.sub("", text)).replace("\\_", "_").replace("\uff1a", ":")
    return plain.strip()


_EMPTY_FRAME = re.compile(r"```\w*\s*```|~~~\w*\s*~~~|<(\w{1,40})>\s*</\1>|</?\w{1,40}\s?/?>")
#: Letters that show nothing.
_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"
_MAX_EMPTY = 1_000


def is_empty(text: str) -> bool:
    """Return whether a text shows nothing: spaces, invisible characters, dots, an empty fence or tag."""
    visible = "".join(c for c in text if unicodedata.category(c)[0] not in "CZ" and c not in _BLANK_LETTERS)
    if not visible:
        return True
    if len(visible) > _MAX_EMPTY:
        return False
    plain = _EMPTY_FRAME.sub("", " ".join(text.split()).strip("".join(set(text) - set(visible))))
    return not "".join(c for c in plain if c in visible).strip(".…`*_- ")
