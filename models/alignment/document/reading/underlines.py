"""Headings that are underlined rather than marked: a line of text above a line of `===` or `---`.

Source: CommonMark 0.31, "Setext headings".
"""

from __future__ import annotations

from ..headings.headings import SECTION, TITLE, Heading, read_judge
from ..headings.names import ExpertNames
from ..headings.round_headings import round_of
from ..headings.round_mentions import mentioned_round
from ..headings.turn_headings import read_agent
from ..lines import read_metadata
from ..text.indents import is_item
from ..text.line_text import one_line, plain, split_emoji
from ..text.vocabulary import PANEL_WORDS, SECTION_WORDS

_MIN_UNDERLINE, _MAX_UNDERLINED = 3, 200


def underlined_heading(above: str, line: str, names: ExpertNames) -> Heading | None:
    """Return the heading that `line` makes of the line above it, or None.

    Dashes are more often a rule across the page: they count below what a dialogue has a heading for.
    """
    mark = line.strip()
    if len(mark) < _MIN_UNDERLINE or mark[0] not in "=-" or mark.strip(mark[0]):
        return None
    text = one_line(above)
    if (
        not text
        or text[0] in "#>|<`~\\"
        or is_item(text)
        or len(text) > _MAX_UNDERLINED
        or read_metadata(text)
    ):
        return None
    if mark[0] == "=":
        return Heading(TITLE, text)
    heading = Heading(SECTION, plain(text))
    words = {*split_emoji(text)[0].casefold().split()}
    begun = round_of(heading, last=None) or mentioned_round(heading)
    known = begun or read_judge(heading) or read_agent(heading, names)
    return heading if known or words & (SECTION_WORDS | PANEL_WORDS | {"scoreboard"}) else None
