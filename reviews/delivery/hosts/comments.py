"""Bodies of the comments about findings on a pull request. Pure.

Text of findings stays text. Words that a code host would read as a mention, a reference, a link, a formula or an
emoji become code, which is shown as it is. An HTML entity would not do: the hosts look for mentions after they have
rendered the Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby

from ....models.severity import Severity
from ...reports.markdown import code_span, escape_text, fence_of
from ...reports.report_model import inline_parts
from ...values.findings import Finding
from .diff import Anchor
from .markers import FindingMarker, without_marker

#: Maximum characters of a text in a comment, before it is escaped.
MAX_TEXT = 2_000
#: `@name`, `#1`, `!1`, `%1`, `~label`, `&1`, `$1`, `^name`, `GH-1`, `a://b`, `www.`, `:emoji:`, `/command`.
_SPECIAL = re.compile(
    r"[@$]|[#!%~&^*]\w|\bGH-\d|://|\bwww\.|:[\w+-]+:|\[\[|^/|\b[0-9a-f]{7,64}\b", re.IGNORECASE
)


def plain_text(content: str, *, most: int = MAX_TEXT) -> str:
    """Return text in one line of Markdown that a code host shows as it is.

    Text over `most` characters is cut. Invisible characters become blanks.
    """
    line = " ".join("".join(character if character.isprintable() else " " for character in content).split())
    line = line if len(line) <= most else f"{line[: most - 1]}…"
    text = ""
    for piece in _pieces(line):
        # Two code spans side by side would be read as one.
        text += f" {piece}" if text.endswith("`") and piece.startswith("`") else piece
    return text


def _pieces(line: str) -> Iterator[str]:
    """Yield code spans and escaped text of a line."""
    for part in inline_parts(line):
        if part.is_code:
            yield code_span(part.text)
            continue
        words = re.split(r"( +)", part.text)
        for is_special, group in groupby(words, key=lambda word: bool(_SPECIAL.search(word))):
            text = "".join(group)
            yield code_span(text) if is_special else _escape(text)


def _escape(text: str) -> str:
    """Return escaped text with the blanks at both ends, which `escape_text` removes."""
    stripped = text.strip(" ")
    if not stripped:
        return text
    start = text.index(stripped)
    return f"{text[:start]}{escape_text(stripped)}{text[start + len(stripped) :]}"


def is_visible(code: str) -> bool:
    """Return whether code has no invisible character, such as one that changes the writing direction."""
    return all(character.isprintable() or character in "\n\t" for character in code)


def fenced(language: str, text: str) -> str:
    """Return a code block that its text cannot end."""
    fence = fence_of(text)
    return f"{fence}{language}\n{text}{chr(10) if text else ''}{fence}"


_GONE, _DISMISSED = "**No longer reported**", "**Suppressed**"

#: Function that returns the language of a code block whose text can be committed in place of the lines.
SuggestionTag = Callable[[Anchor], str]


def finding_body(finding: Finding, anchor: Anchor | None, *, series: str, tag: SuggestionTag) -> str:
    """Return the body of the comment about a finding; no anchor: its lines are not in the diff any more.

    If the finding is suppressed, its first line is the reason.
    """
    parts = [f"**{finding.severity.value}** {plain_text(finding.rule)}: {plain_text(finding.message)}"]
    if not finding.is_open and finding.suppression is not None:
        parts.insert(
            0, f"{_DISMISSED}: {plain_text(finding.suppression.reason) or 'by a comment in the file'}."
        )
    parts += [plain_text(text) for text in (finding.why, finding.suggestion) if text.strip()]
    code = finding.replacement
    if code is not None and anchor is not None and anchor.is_exact and is_visible(code) and finding.is_open:
        parts.append(fenced(tag(anchor), code))
    if finding.agents:
        parts.append(f"Reported by {', '.join(map(plain_text, finding.agents))}.")
    return "\n\n".join([*parts, str(FindingMarker.of(finding, series=series))])


_SEVERITY = re.compile(rf"\*\*({'|'.join(Severity)})\*\* ")


def severity_of_body(body: str) -> Severity | None:
    """Return the severity of the finding of a comment that is open; None: the comment says that it is gone or suppressed."""
    match = _SEVERITY.match(body)
    return Severity(match[1]) if match else None


def is_suppressed_body(body: str) -> bool:
    """Return whether a comment says that its finding is suppressed."""
    return body.startswith(_DISMISSED)


def gone_body(body: str, marker: FindingMarker, *, revision: str) -> str:
    """Return the body of the comment about a finding that is gone: what it said, below a note."""
    since = f" since {plain_text(revision[:12])}" if revision else ""
    gone = replace(marker, is_gone=True)
    return "\n\n".join([f"{_GONE}{since}.", without_marker(body), str(gone)])
