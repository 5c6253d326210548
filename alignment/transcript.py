"""The alignment document of a session: its dialog, with the ledger's tables.

Participants get names that are valid in headings. Ids that experts chose become the ledger's global ids,
which are unique in the document.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

from ..models.alignment.ledger import Ledger, TensionEntry
from ..models.alignment.vocabulary import (
    DIMENSIONS,
    EXPERT_EMOJI,
    JUDGE,
    JUDGE_EMOJI,
    PANEL_TITLE,
    PARTICIPANTS_KEY,
    PERSPECTIVES_TITLE,
    SCOREBOARD_TITLE,
    TENSIONS_TITLE,
    TOTAL_KEY,
)
from ..models.errors import InvalidInput, SessionError
from ..models.modes import mode_of
from ..models.protocol.collab import Collab, Participant
from ..models.protocol.dialog import Message
from .document import (
    AlignmentDialogue,
    Block,
    Judge,
    Marker,
    MarkerRef,
    MarkerType,
    Metadata,
    Part,
    Prose,
    Round,
    Section,
    Table,
    TensionState,
    Turn,
    lint,
    parse,
    render,
)
from .document.experts import split_name
from .document.reader import read_blocks

_EXPERT = "Expert"


@dataclass(frozen=True, slots=True)
class TranscriptNames:
    """The experts' names and roles by participant id, and the judge's role; None: there is no judge."""

    names: dict[str, str]
    roles: dict[str, str]
    judge: str | None = None


def transcript_names(collab: Collab, messages: Sequence[Message], experts: Sequence[str]) -> TranscriptNames:
    """Return the participants' names. Experts who left are named by their id; any other speaker is the judge."""
    participants = {participant.participant_id: participant for participant in collab.participants}
    left = (expert for expert in experts if expert not in participants)
    people = [*participants.values(), *(Participant(participant_id=expert) for expert in left)]
    named = [participant for participant in people if participant.participant_id in experts]
    roles = {participant.participant_id: _role(participant, _EXPERT) for participant in named}
    spoke = {
        message.speaker
        for message in messages
        if message.turn_number is not None and message.speaker is not None
    }
    judges = [
        participants.get(speaker)
        for speaker in dict.fromkeys((*participants, *sorted(spoke)))
        if speaker not in experts
    ]
    if not judges:
        return TranscriptNames(_names(named), roles)
    default = mode_of(collab.mode).judge_title or JUDGE
    return TranscriptNames(_names(named), roles, _role(judges[0], default) if judges[0] else default)


def _role(participant: Participant, default: str) -> str:
    """Return a participant's role; a role that was filled from the id is replaced by `default`."""
    role = (participant.role_id or "").strip()
    return role if role and role != participant.participant_id else default


def _names(people: Iterable[Participant]) -> dict[str, str]:
    """Return unique names that are valid in headings: the display name, the id, or a number."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for at, person in enumerate(people, start=1):
        numbered = (f"{_EXPERT} {number}" for number in count(at))
        choices = chain((_name(person.display_name), _name(person.participant_id)), numbered)
        name = next(name for name in choices if name and name.casefold() not in taken)
        names[person.participant_id] = name
        taken.add(name.casefold())
    return names


def _name(text: str | None) -> str:
    """Return the name that the parser reads from a heading with `text`; empty if there is none."""
    try:
        return Turn(split_name(text)[0]).agent if text else ""
    except InvalidInput:
        return ""


_FIRST_LABEL, _LABEL = "Opening Arguments", "Tension Resolution"
_DECLARING = frozenset({MarkerType.PERSPECTIVE, MarkerType.TENSION})


def render_transcript(
    collab: Collab, messages: Sequence[Message], ledger: Ledger, experts: Sequence[str]
) -> str:
    """Return the session as Markdown.

    Raises:
        SessionError: The parser does not read the same document back; a defect of Symposia.
    """
    document = build_transcript(collab, messages, ledger, experts)
    text = render(document)
    if parse(text) != document:
        raise SessionError(
            f"transcript of session {collab.collab_id!r} changes when it is written and parsed again (bug in Symposia)"
        )
    return text


def lint_transcript(text: str) -> list[str]:
    """Return the findings of strict lint in a transcript, one line each."""
    return [
        f"line {finding.line}: {finding.message} [{finding.code.value}]"
        for finding in lint(text, strict=True)
    ]


def build_transcript(
    collab: Collab, messages: Sequence[Message], ledger: Ledger, experts: Sequence[str]
) -> AlignmentDialogue:
    """Return the session as a document; `experts` are participant ids, any other speaker is the judge."""
    cast = transcript_names(collab, messages, experts)
    writer = _Writer(ledger, cast)
    people = [f"{EXPERT_EMOJI} {name}" for name in cast.names.values()]
    if cast.judge:
        people.insert(0, f"{JUDGE_EMOJI} {JUDGE}")
    metadata = (
        Metadata("Status", "Converged" if ledger.converged else collab.status.value.capitalize()),
        Metadata(PARTICIPANTS_KEY, ", ".join(people)),
        Metadata("Session", collab.collab_id),
    )
    rounds = tuple(writer.rounds(messages))
    parts: tuple[Part, ...] = (*writer.tables(), *rounds)
    return AlignmentDialogue(collab.title, metadata, (Prose(collab.purpose),), parts)


class _Writer:
    """Writer of a dialog as rounds, with the data of the ledger."""

    def __init__(self, ledger: Ledger, cast: TranscriptNames) -> None:
        self._ledger, self._cast, self._names = ledger, cast, cast.names

    def rounds(self, messages: Sequence[Message]) -> Iterator[Part]:
        """Yield the rounds with the experts' turns, and the judge's words after each."""
        turns: dict[int, dict[int, tuple[str, list[Block]]]] = {}
        judged: dict[int, list[Block]] = {}
        ends = [entry.last_turn for entry in self._ledger.rounds]
        declared: set[tuple[int, str, str]] = set()
        for message in messages:
            if message.turn_number is None or message.speaker is None:
                continue
            number = bisect_left(ends, message.turn_number)
            blocks = [
                self._block(block, message.speaker, number, declared)
                for block in read_blocks(message.content)
            ]
            if message.speaker in self._names:
                turn = turns.setdefault(number, {}).setdefault(message.turn_number, (message.speaker, []))
                turn[1].extend(blocks)
            else:
                judged.setdefault(number - 1, []).extend(blocks)
        yield from self._judge(judged, -1)
        for number in range(max((*turns, *judged), default=-1) + 1):
            expert_turns = tuple(
                Turn(self._names[name], blocks=tuple(blocks))
                for _, (name, blocks) in sorted(turns.get(number, {}).items())
            )
            if expert_turns:
                yield Round(number, _LABEL if number else _FIRST_LABEL, turns=expert_turns)
            yield from self._judge(judged, number)

    def _judge(self, judged: dict[int, list[Block]], number: int) -> Iterator[Judge]:
        if number in judged:
            label = f"Round {number} Assessment" if number >= 0 else "Opening"
            yield Judge(label, tuple(judged[number]))

    def _block(self, block: Block, speaker: str, number: int, declared: set[tuple[int, str, str]]) -> Block:
        """Return a block with global ids. A marker with an unknown id becomes a sentence that quotes it."""
        if isinstance(block, Table):
            width = max(len(block.header), *map(len, (block.header, *block.rows)))
            rows = tuple((*row, *("",) * (width - len(row))) for row in block.rows)
            return Table((*block.header, *("",) * (width - len(block.header))), rows)
        if not isinstance(block, Marker):
            return block
        refs = (
            MarkerRef(ref.id, ref.agent, number if ref.round is None else ref.round) for ref in block.refs
        )
        global_ids = {self._ledger.global_id(ref, speaker) for ref in refs}
        names = sorted(name for name in global_ids if name is not None)
        if len(names) < len(block.refs) or (block.type in _DECLARING and not names):
            if block.type in (MarkerType.REFINEMENT, MarkerType.CONCESSION):
                return Marker(block.type, tuple(map(MarkerRef, names)), block.label or "as said")
            return Prose(str(block))
        kind = block.type
        if kind in _DECLARING and any((number, speaker, name) in declared for name in names):
            kind = MarkerType.REFINEMENT
        declared.update((number, speaker, name) for name in names if kind in _DECLARING)
        return Marker(kind, tuple(map(MarkerRef, names)), block.label)

    def tables(self) -> Iterator[Section]:
        """Yield panel, scoreboard, inventory and tracker; empty ones are left out."""
        people = [
            (f"{EXPERT_EMOJI} {name}", self._cast.roles[participant_id])
            for participant_id, name in self._names.items()
        ]
        judge = [(f"{JUDGE_EMOJI} {JUDGE}", self._cast.judge)] if self._cast.judge else []
        yield Section(PANEL_TITLE, (Table(("Agent", "Role"), (*judge, *people)),))
        display_names = {**{name.casefold(): name for name in self._names.values()}, **self._names}
        if scores := [
            (display_names[name], s) for name, s in self._ledger.scores.items() if name in display_names
        ]:
            cells = (
                (
                    f"{EXPERT_EMOJI} {name}",
                    *map(str, (s.wisdom, s.consistency, s.truth, s.relationships, s.total)),
                )
                for name, s in scores
            )
            total = Prose(str(Metadata(TOTAL_KEY, str(sum(s.total for _, s in scores)))))
            yield Section(SCOREBOARD_TITLE, (Table(("Agent", *DIMENSIONS, "Total"), tuple(cells)), total))
        if self._ledger.perspectives:
            rows = tuple(
                (p.id, self._display_name(p.by), p.label, str(p.round)) for p in self._ledger.perspectives
            )
            yield Section(PERSPECTIVES_TITLE, (Table(("ID", "Agent", "Perspective", "Round"), rows),))
        if self._ledger.tensions:
            header = ("ID", "Tension", "Status", "Raised", "Resolved")
            yield Section(TENSIONS_TITLE, (Table(header, tuple(map(self._row, self._ledger.tensions))),))
        if self._ledger.rounds:
            columns = ("Round", "New perspectives", "Open tensions", "Velocity", "Score")
            lines = tuple(
                tuple(map(str, (r.round, r.new_perspectives, r.open_tensions, r.velocity, r.score)))
                for r in self._ledger.rounds
            )
            yield Section("Velocity", (Table(columns, lines),))

    def _row(self, entry: TensionEntry) -> tuple[str, ...]:
        first, last = entry.changes[0], entry.changes[-1]
        settled = (
            f"{self._display_name(last.by)} R{last.round}" if last.state is TensionState.RESOLVED else "—"
        )
        return (
            entry.id,
            entry.label,
            entry.state.value.capitalize(),
            f"{self._display_name(first.by)} R{first.round}",
            settled,
        )

    def _display_name(self, participant: str) -> str:
        return (
            f"{EXPERT_EMOJI} {self._names[participant]}"
            if participant in self._names
            else f"{JUDGE_EMOJI} {JUDGE}"
        )
