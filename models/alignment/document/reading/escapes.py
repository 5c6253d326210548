r"""Backslashes that keep prose prose: `\## Round 3` is a sentence, not a round.

In the text of any field, one backslash more is written before what would otherwise be read as
structure, and one is removed again when it is read. Nothing is lost, with any number of backslashes.
"""

from __future__ import annotations

from ..headings.names import ExpertNames
from ..lines import is_structure, read_metadata, underlined_heading
from ..markers.markers import escape_markers, unescape_markers
from ..scan import LineReader, fence_of, opens_comment

_STARTS = "#|`~<>*_-+=\\"


def escape_prose(text: str, names: ExpertNames, *, preamble: bool = False) -> str:
    """Return `text` escaped as prose. `preamble`: it is before the first heading, among the metadata."""
    if not any(c in text for c in "#|`~<[［【_*=-\\"):
        return text
    reader = LineReader(text + "\n")
    lines = list(reader.lines())
    open_from = reader.open_fence or len(lines) + 1
    open_comments = {*reader.open_comments}
    if reader.open_fence:  # a fence that is never closed hides nothing
        lines = list(LineReader(text + "\n", bare_from=open_from).lines())
    out = []
    above = ""
    for line, before in zip(lines, ["", *(line.text for line in lines)], strict=False):
        if line.hidden:
            out.append(line.text)
            above = ""
            continue
        loose = line.number >= open_from or line.number in open_comments
        out.append(_line(line.text, names, preamble=preamble, loose=loose, above=above))
        above = "" if before.strip() else line.text
    return "\n".join(out)


def _line(text: str, names: ExpertNames, *, preamble: bool, loose: bool, above: str) -> str:
    """Return one line. `loose`: a fence or a comment that it opens would never be closed."""
    text = escape_markers(text)
    body = text.lstrip()
    bare = body.lstrip("\\")
    slashes = len(body) - len(bare)
    indent = text[: len(text) - len(body)]
    needed = _means_something(
        indent + bare, names, preamble=preamble, delimiters=loose or slashes > 0, above=above
    )
    return f"{indent}\\{body}" if needed else text


def unescape_prose(text: str, names: ExpertNames, *, preamble: bool = False, above: str = "") -> str:
    """Return a line of prose without the backslashes that protected it; `above` is the line before it."""
    if "\\" not in text:
        return text
    body = text.lstrip()
    indent, bare = text[: len(text) - len(body)], body.lstrip("\\")
    if bare != body and _means_something(
        indent + bare, names, preamble=preamble, delimiters=True, above=above
    ):
        text = indent + body[1:]
    return unescape_markers(text)


def _means_something(text: str, names: ExpertNames, *, preamble: bool, delimiters: bool, above: str) -> bool:
    """Return whether a line of prose would be read as something else."""
    if text.lstrip()[:1] not in _STARTS and not text.lstrip()[:1].isdecimal():
        return False
    if underlined_heading(above, text, names):
        return True
    if delimiters and (fence_of(text)[0] or opens_comment(text)):
        return True
    return is_structure(text, names) or (preamble and read_metadata(text) is not None)
