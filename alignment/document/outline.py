"""The outline of a document: what each of its lines begins, decided from the headings alone.

A heading `## Round 1: X` begins a round by its words. One that mentions a round in other words, such as
`Round 2 (Convergence)`, may be about a round that is over: it begins one if experts speak under it.

Source: RFC 0028, "Tolerance Policy".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...models.alignment.vocabulary import DASHES, ROUND_REPORT_WORDS
from .experts import ExpertNames, SpeakerLine, read_agent, speaker_of, split_name
from .headings import (
    MAX_ROUNDS,
    SECTION,
    TITLE,
    AgentHeading,
    Heading,
    JudgeHeading,
    RoundHeading,
    is_document_section,
    later_round,
    plain_round,
    read_heading,
    read_judge,
    read_round,
    without_markup,
)
from .lines import Line, bold_heading, underlined_heading
from .markers import find_markers
from .text import has_bracket, plain

_ROUND = "round"
_LONGEST = 200

#: What a line begins; a title and a section are headings.
Start = Heading | RoundHeading | JudgeHeading | AgentHeading


class _Candidate(NamedTuple):
    """A heading that mentions a round, its line and level, and the round that it may begin."""

    line: int
    level: int
    begun: RoundHeading
    #: It counts only if no other heading begins a round of this number.
    weak: bool


class Outline:
    """What the lines of a document begin, by their numbers.

    `bold`: lines that are all bold may begin rounds.
    """

    def __init__(self, lines: Sequence[Line], names: ExpertNames, *, bold: bool = False) -> None:
        self.starts: dict[int, Start] = {}
        #: Lines of dashes or equal signs, which make the line above a heading.
        self.underlines: set[int] = set()
        #: Lines that begin a turn with the speaker's name and go on with the speaker's words.
        self.spoken: dict[int, SpeakerLine] = {}
        #: Lines that begin no round although experts speak under them, each with the round that it may mean.
        self.unclear: dict[int, RoundHeading | None] = {}
        #: Lines of rounds and sections in which a line that begins with a speaker would begin a turn.
        self.quotable: set[int] = set()
        self.bold_rounds = False
        #: Lines in bold, and headings before a marker: they begin a round or a turn, or are text.
        self._no_sections: set[int] = set()
        self._lines, self._names, self._bold = lines, names, bold
        self._agents: dict[Heading, AgentHeading | None] = {}
        #: Lines of the rounds, each with the number of headings of turns in it; and the last one's.
        self._rounds: dict[int, int] = {}
        self._round = 0
        self._numbers: set[int] = set()
        self._titled = self._begun = False
        self._in_round = False
        self._round_level = SECTION
        self._last: int | None = None
        #: Level of the heading of the current speaker or of the judge, who only discusses; 0: no speaker.
        self._speaking_level = 0
        self._judging = False
        self._pending: _Candidate | None = None
        #: The last section in this round, by its line and title.
        self._section: tuple[int, str] | None = None
        #: A line that reads like the heading of the next round.
        self._doubtful: tuple[int, RoundHeading] | None = None
        self._read()

    @property
    def has_rounds(self) -> bool:
        """True when a round has begun."""
        return bool(self._rounds)

    def _read(self) -> None:
        events = list(self._events())
        for _, heading in events:
            if isinstance(heading, RoundHeading) or heading.level != SECTION:
                continue
            mention = read_round(heading)
            if mention and mention.sure and mention.number is not None:
                self._numbers.add(mention.number)
        for number, heading in events:
            if isinstance(heading, RoundHeading):
                self._doubt(number, heading)
            elif heading.level == TITLE and not (self._titled or self._begun or number in self._no_sections):
                self.starts[number], self._titled = heading, True
            else:
                self._heading(number, Heading(max(heading.level, SECTION), heading.text))
        self._close(len(self._lines) + 1, TITLE)
        self._quote()

    def _events(self) -> Iterator[tuple[int, Heading | RoundHeading]]:
        """Yield the headings, and as a round each line that only reads like the heading of one."""
        above, in_paragraph = "", False
        for line in self._lines:
            text = "" if line.hidden else line.text
            head = text.lstrip()[:1]
            markers = find_markers(text).found if has_bracket(text) else []
            if head == "#":
                if markers:
                    self._no_sections.add(line.number)
                    text = text[: markers[0].start].rstrip(f" :{DASHES}")
                if heading := read_heading(text):
                    yield line.number, heading
            elif head and head in "*_":
                yield from self._bold_line(line.number, text)
            elif head and head in "=-" and (heading := underlined_heading(above, text, self._names)):
                self.underlines.add(line.number)
                yield line.number - 1, heading
                above, in_paragraph = "", False
                continue
            elif head and head in "<>" and (begun := reads_like_round(text)):
                yield line.number, begun
            is_prose = bool(line.text.strip()) and head != "|" and not markers
            above = text if is_prose and not in_paragraph else ""
            in_paragraph = is_prose

    def _bold_line(self, number: int, text: str) -> Iterator[tuple[int, Heading | RoundHeading]]:
        heading = bold_heading(text)
        mention = read_round(heading) if heading else None
        if heading is None or mention is None:
            return
        self.bold_rounds = True
        self._no_sections.add(number)
        yield number, heading if self._bold else mention.heading(None)

    def _doubt(self, line: int, begun: RoundHeading) -> None:
        if self._last is not None and begun.number == self._last + 1:
            self._doubtful = line, begun

    def _heading(self, line: int, heading: Heading) -> None:
        mention = read_round(heading)
        surely = mention is not None and mention.sure and heading.level <= self._deepest(heading)
        expert = self._names.get(split_name(heading.text)[0])
        # `Muffin — Round 1` is Muffin's turn.
        of_expert = self._in_round and expert and heading.text[:1] not in "rR" and self._agent_of(heading)
        judge = read_judge(heading)
        if mention and surely and not of_expert:
            self._close(line, TITLE)
            self._begin_round(line, mention.heading(self._last), heading.level)
            self._round_level = heading.level
        elif judge:
            self._close(line, heading.level)
            self._begin(line, judge, level=heading.level, judging=True)
        elif agent := self._speaker(heading):
            self._begin(line, agent, level=heading.level)
            self._rounds[self._round] += 1
            if begun := later_round(agent.extra, self._last):
                self.unclear[line] = begun
        else:
            if expert is None and not self._would_speak(heading):
                self._add_candidate(line, heading)
            if heading.level == SECTION and line not in self._no_sections:
                self._begin(line, heading)
                own = is_document_section(heading.text)
                self._section = None if own else (line, heading.text)
                self._in_round = self._in_round and not own
                if mention:
                    self.quotable.add(line)

    def _begin(self, line: int, start: Start, *, level: int = 0, judging: bool = False) -> None:
        self.starts[line] = start
        self._begun, self._speaking_level, self._judging = True, level, judging

    def _begin_round(self, line: int, begun: RoundHeading, level: int) -> None:
        self._begin(line, begun)
        if not self._rounds:
            self._round_level = level
        self._rounds[line], self._round = 0, line
        self._in_round, self._last = True, begun.number
        self._pending = self._section = self._doubtful = None
        self._numbers.add(begun.number)

    def _deepest(self, heading: Heading) -> int:
        """Return the level down to which a round's words are enough; below, a heading is part of its section."""
        if self._rounds:
            return max(SECTION, self._round_level)
        return SECTION if self._begun and plain_round(heading) is None else heading.level

    def _agent_of(self, heading: Heading) -> AgentHeading | None:
        """Return the expert of a heading; the same few are read again in every round."""
        if heading not in self._agents:
            self._agents[heading] = read_agent(heading, self._names)
        return self._agents[heading]

    def _would_speak(self, heading: Heading) -> bool:
        """Return True for an expert's heading, except under the judge's, who only discusses."""
        discussed = self._judging and 0 < self._speaking_level < heading.level
        return not discussed and self._agent_of(heading) is not None

    def _speaker(self, heading: Heading) -> AgentHeading | None:
        """Return the expert whose turn a heading begins; the heading above it may thereby begin a round."""
        agent = self._agent_of(heading) if self._would_speak(heading) else None
        if agent is None:
            return None
        if self._pending or self._section or self._may_speak(heading, agent):
            self._confirm(heading.level)
        return agent if self._may_speak(heading, agent) else None

    def _may_speak(self, heading: Heading, agent: AgentHeading) -> bool:
        if not (self._in_round or (self._rounds and heading.level == SECTION)):
            return False
        # Below a turn's heading an emoji makes another turn, and a bare name a reply.
        return not 0 < self._speaking_level < heading.level or agent.emoji in heading.text

    def _confirm(self, level: int) -> None:
        """Let the heading that mentions a round begin it, or record which heading is unclear, as an expert speaks."""
        pending, section, doubtful = self._pending, self._section, self._doubtful
        self._pending = self._section = self._doubtful = None
        if pending is not None and level >= pending.level and (self._last is not None or level > SECTION):
            if not (pending.weak and pending.begun.number in self._numbers):
                self._begin_round(pending.line, pending.begun, pending.level)
            elif pending.level <= SECTION:
                self.unclear[pending.line] = pending.begun
        elif section is not None:
            line, title = section
            number = 0 if self._last is None else self._last + 1
            self.unclear[line] = None if _ROUND in title.casefold() else RoundHeading(number, title)
        elif doubtful is not None and doubtful[1].number not in self._numbers:
            self.unclear[doubtful[0]] = doubtful[1]

    def _close(self, line: int, level: int) -> None:
        """End the candidate, which a heading of this level ends: it begins its round if it quotes experts.

        In a report such as an agenda, experts are named but do not speak.
        """
        pending = self._pending
        if pending is None or level > pending.level:
            return
        self._pending = None
        report = not ROUND_REPORT_WORDS.isdisjoint(pending.begun.label.casefold().split())
        if (
            pending.level > SECTION
            or pending.line in self._no_sections
            or pending.begun.number in self._numbers
            or report
        ):
            return
        if next(self._speakers(pending.line, line), None):
            self._begin_round(pending.line, pending.begun, pending.level)

    def _add_candidate(self, line: int, heading: Heading) -> None:
        self._close(line, heading.level)
        mention = read_round(heading)
        if mention is None:
            return
        begun = mention.heading(self._last)
        deep = heading.level > self._deepest(heading)
        if deep and self._last is not None and begun.number <= self._last:
            return  # a subheading about this round or an earlier one
        weak = deep or self._last is None or is_document_section(heading.text)
        self._pending = _Candidate(line, heading.level, begun, weak)

    def _quote(self) -> None:
        """Begin turns at the lines with a speaker's name in the rounds in which no heading begins one."""
        parts = [line for line, start in sorted(self.starts.items()) if not isinstance(start, AgentHeading)]
        ends = dict(pairwise([*parts, len(self._lines) + 1]))
        self.quotable = {number for number in self.quotable if self._mentions_new_round(self.starts[number])}
        for begun in [line for line, turns in self._rounds.items() if not turns]:
            self.quotable.add(begun)
            for line, spoken in self._speakers(begun, ends[begun]):
                self.starts[line], self.spoken[line] = spoken.heading, spoken

    def _mentions_new_round(self, start: Start) -> bool:
        mention = read_round(start) if isinstance(start, Heading) else None
        return mention is not None and mention.number not in self._numbers

    def _speakers(self, start: int, end: int) -> Iterator[tuple[int, SpeakerLine]]:
        for line in self._lines[start : end - 1] if self._names else ():
            plainly = not line.hidden and line.text.lstrip()[:1] != "|" and line.number not in self.underlines
            if plainly and (spoken := speaker_of(line.text, self._names)):
                yield line.number, spoken


def reads_like_round(line: str) -> RoundHeading | None:
    """Return the round of `> ## Round 1`, `<h2>Round 1</h2>`, `**Round 1**: X`, `Round 1: X`."""
    text = line.strip().lstrip("> ")
    if len(text) > _LONGEST or _ROUND not in text.casefold():
        return None
    if text[0] == "#":
        heading = read_heading(text)  # a title is one, with any text
        return _named_round(heading.text) if heading and heading.level > TITLE else None
    if text[:2].casefold() == "<h" and text[2:3].isdecimal():
        return _named_round(without_markup(text))
    # `Round: 1` says which one it is, and begins none; in a sentence, words follow the number.
    begins = text.lstrip("*_").casefold().startswith(_ROUND)
    return _named_round(plain(without_markup(text)).replace("__", "")) if begins else None


def _named_round(text: str) -> RoundHeading | None:
    mention = read_round(Heading(SECTION, text))
    named = mention and (mention.sure or mention.parted) and (mention.number or 0) <= MAX_ROUNDS
    return mention.heading(None) if mention and named else None
