"""`lint`: findings about the form and the content of a document; one function for each content rule.

Source: RFC 0028, "Tolerance Policy" and "Phase 3: Linter Migration".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...models.alignment.marker_ids import base_id
from ...models.alignment.vocabulary import NUMBERED, TOTAL_KEY, MarkerType, TensionState
from .findings import RULES, ContentRule, FormNote, FormRule, LintFinding, LintSeverity
from .headings import RoundHeading
from .lookalikes import unread_rounds, unread_turns
from .markers import Marker
from .model import AlignmentDialogue
from .reader import ParsedDocument, read
from .tables import Table, read_row, write_row
from .text import plain
from .views import Entry, Scoreboard, perspectives, scoreboards, tracked_tensions

_DECLARING = frozenset({MarkerType.PERSPECTIVE, MarkerType.TENSION})
_ADDS_UP = frozenset({"total", "totals", "sum", TOTAL_KEY.casefold()})
_STILL_OPEN = frozenset({TensionState.OPEN, TensionState.REOPENED})


def check_content(parsed: ParsedDocument, lines: Sequence[str]) -> Iterator[LintFinding]:
    """Yield every finding of every rule; `lines` are the document's."""
    document = parsed.document
    yield from _title(document)
    yield from _ids(document)
    yield from _entries(document)
    yield from _tensions(document)
    yield from _agents(document)
    yield from _tables(document)
    yield from _unread(parsed)
    yield from _unclear_rounds(parsed.outline.unclear)
    for board in scoreboards(document):
        yield from _scores(board, lines)


def _unclear_rounds(unclear: Mapping[int, RoundHeading | None]) -> Iterator[LintFinding]:
    """Yield a finding for each line that begins no round although experts speak under it, with its likely round."""
    for line, begun in unclear.items():
        yield _finding(ContentRule.UNCLEAR_ROUND, line, "", hint=str(begun) if begun else None)


def _finding(
    rule: ContentRule, line: int, detail: str, *, column: int = 1, hint: str | None = None
) -> LintFinding:
    severity, message = RULES[rule]
    return LintFinding(rule, severity, line, column, f"{message}: {detail}" if detail else message, hint)


def _title(document: AlignmentDialogue) -> Iterator[LintFinding]:
    if not document.title and document.parts:
        yield _finding(ContentRule.MISSING_TITLE, 1, "")


def _unread(parsed: ParsedDocument) -> Iterator[LintFinding]:
    for lookalike in unread_rounds(parsed):
        yield _finding(ContentRule.UNREAD_ROUND, lookalike.line, lookalike.text, hint=lookalike.hint)
    for lookalike in unread_turns(parsed):
        yield _finding(ContentRule.UNREAD_TURN, lookalike.line, lookalike.text, hint=lookalike.hint)


def _ids(document: AlignmentDialogue) -> Iterator[LintFinding]:
    """Check ids: an agent declares an id at most once in a round."""
    declared: set[tuple[str, object, object]] = set()
    for marker in document.markers:
        if marker.type in NUMBERED and not marker.refs:
            yield _finding(ContentRule.MISSING_ID, marker.line, str(marker), column=marker.column)
        for ref in marker.refs if marker.type in _DECLARING else ():
            key = (ref.id, ref.agent or marker.agent, marker.round if ref.round is None else ref.round)
            if key in declared and marker.agent:
                where = f"{ref.id} by {marker.agent} in round {marker.round}"
                yield _finding(ContentRule.DUPLICATE_ID, marker.line, where, column=marker.column)
            declared.add(key)


def _entries(document: AlignmentDialogue) -> Iterator[LintFinding]:
    yield from _repeated(perspectives(document))
    yield from _repeated(tracked_tensions(document))
    seen: set[int] = set()
    for part in document.rounds:
        if part.number in seen:
            yield _finding(ContentRule.DUPLICATE_ROUND, part.line, f"round {part.number}")
        seen.add(part.number)


def _repeated(rows: Iterable[Entry]) -> Iterator[LintFinding]:
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        key = (row.id, plain(row.agent).casefold(), plain(row.round).casefold())
        if key in seen:
            yield _finding(ContentRule.DUPLICATE_ID, row.line, row.id)
        seen.add(key)


def _tensions(document: AlignmentDialogue) -> Iterator[LintFinding]:
    """Check that RESOLVED names a known tension, and that the tracker does not call it open.

    Texts without rounds are skipped: a single answer is not a whole dialogue.
    """
    if not document.rounds:
        return
    rows = {row.id: row for row in tracked_tensions(document)}
    raised = {
        ref.id for marker in document.markers if marker.type is MarkerType.TENSION for ref in marker.refs
    }
    known_ids = {base_id(name) for name in (*rows, *raised)}
    resolved: dict[str, Marker] = {}
    for marker in document.markers:
        if marker.type is MarkerType.TENSION:  # raised again after it was resolved: open again
            for ref in marker.refs:
                resolved.pop(ref.id, None)
        for ref in marker.refs if marker.type is MarkerType.RESOLVED else ():
            resolved[ref.id] = marker
            if base_id(ref.id) not in known_ids and ref.id.startswith("T"):
                yield _finding(ContentRule.UNKNOWN_TENSION, marker.line, ref.id, column=marker.column)
    for name, row in rows.items():
        if row.state in _STILL_OPEN and name in resolved:
            by = resolved[name]
            detail = f"{name} is {row.state.value} in the tracker, but line {by.line} resolves it"
            yield _finding(ContentRule.STATUS, row.line, detail)


def _agents(document: AlignmentDialogue) -> Iterator[LintFinding]:
    names = document.names
    for part in document.rounds if names else ():
        for turn in part.turns:
            if names.get(turn.agent) is None:
                yield _finding(ContentRule.UNKNOWN_AGENT, turn.line, turn.agent)


def _tables(document: AlignmentDialogue) -> Iterator[LintFinding]:
    for block in (block for block in document.blocks() if isinstance(block, Table)):
        for row, line in zip(block.rows, block.lines, strict=True):
            if len(row) != len(block.header):
                yield _finding(ContentRule.COLUMNS, line, f"{len(row)} cells, header has {len(block.header)}")


def _scores(board: Scoreboard, lines: Sequence[str]) -> Iterator[LintFinding]:
    for row in board.rows:
        if row.sum is not None and not row.adds_up and not row.sums_up:
            hint = _with_total(lines, row.line, board, row.sum)
            yield _finding(
                ContentRule.ROW_SUM, row.line, f"{row.name} has {row.total}, the sum is {row.sum}", hint=hint
            )
    if not board.of_people or any(row.total is None for row in board.people):
        return
    for row in board.rows:
        # Rows of averages or of shares are not sums.
        if row.name.casefold() in _ADDS_UP and row.total is not None and row.total != board.sum:
            hint = _with_total(lines, row.line, board, board.sum)
            yield _finding(ContentRule.TOTAL_SUM, row.line, f"{row.total}, the sum is {board.sum}", hint=hint)
    if board.total is not None and board.total != board.sum:
        hint = _replaced(lines, board.total_line, str(board.total), str(board.sum))
        yield _finding(
            ContentRule.TOTAL_SUM, board.total_line, f"{board.total}, the sum is {board.sum}", hint=hint
        )


def _with_total(lines: Sequence[str], line: int, board: Scoreboard, total: float) -> str | None:
    if not 0 < line <= len(lines) or board.total_column is None:
        return None
    cells = list(read_row(lines[line - 1]))
    bold = cells[board.total_column].startswith("**")
    cells[board.total_column] = f"**{total}**" if bold else str(total)
    return write_row(cells)


def _replaced(lines: Sequence[str], line: int, old: str, new: str) -> str | None:
    return lines[line - 1].rstrip("\r").replace(old, new, 1) if 0 < line <= len(lines) else None


#: Codes whose fix would change the meaning of the document.
_UNSAFE = frozenset({FormRule.NEAR_MARKER})


def lint(markdown: str, *, strict: bool = False) -> tuple[LintFinding, ...]:
    """Return the findings in the order of their lines. `strict` makes each an error."""
    reading = read(markdown)
    lines = markdown.split("\n")
    findings = [*map(_of_form, reading.notes), *check_content(reading, lines)]
    findings.sort(key=lambda finding: (finding.line, finding.column))
    if strict:
        findings = [replace(finding, severity=LintSeverity.ERROR) for finding in findings]
    return tuple(findings)


def _of_form(note: FormNote) -> LintFinding:
    severity, message = RULES[note.code]
    safe = note.hint is not None and note.code not in _UNSAFE
    return LintFinding(note.code, severity, note.line, note.column, message, note.hint, safe)
