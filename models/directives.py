"""Directives in plain text: the form for people and for models without structured output.

A directive is a line that begins with one of these words, in capitals:

    NEXT: coder, tester          the next speakers, in this order        } in a
    TOGETHER: coder, tester      the next speakers, side by side         } decision
    INSTRUCTION: keep it short   for all of them                         } turn
    INSTRUCTION coder: write it  for one of them                         }
    DONE: all tests pass         the orchestrator is satisfied           }
    STALLED: nobody knows        no progress since the last decision     }
    APPROVED: reads well         the navigator of a pair is satisfied, in a review turn
    ITEM: check the logs         a new item for the board                } in a
    ITEM tester: check the logs  a new item for one role or participant  } swarm
    HAND OFF: tester             another participant continues, with the item in a swarm
    ASK ben: May I delete it?    a question to a person: all text from here to the end

The choice of a speaker is read in other wordings, too, if it has one meaning: `next: coder`, `{"next": "coder"}`, a name
alone, or a short sentence that names one participant ("The next speaker should be coder.").

An `ASK` line must name a participant of kind `human`, an approver or an observer; otherwise it is text. The text before it is the
message. Sessions with memory also read the lines of `models/memory/learned.py`, and those
with long-term memory the lines of `models/memory/recollections.py`.

An answer that is nothing but `PASS` says nothing, in any mode. An instruction or an item continues until
the next blank line or directive. Markdown around a directive (bold, bullets, headings) does no harm;
fenced code is not read, unless the whole answer is in one fence.

The time to read a text grows with its length only, also for a megabyte of `#`.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pydantic import ValidationError

from .memory.learned import read_remarks
from .memory.recollections import MAX_NOTES, read_notes
from .modes import mode_of
from .protocol.collab import (
    Participant,
    ParticipantKind,
    find_participant_or_role,
    find_participants,
)
from .turns.items import NewItem
from .turns.turn import Decision, Expects, Question, TurnContext, TurnOutcome

log = logging.getLogger(__name__)

_WORD = "ASK "
#: Decoration that people and models put around a directive or a name.
_AROUND = "*_`~-+>#• \t"
_MAX_QUESTION = 32_768
#: Maximum number of lines of an answer that are examined for a question.
_MAX_QUESTION_LINES = 1_000


def read_question(context: TurnContext, outcome: TurnOutcome) -> TurnOutcome | None:
    """Return the outcome with the question its text ends with; None: no question. People ask no questions this way."""
    if context.me.kind is ParticipantKind.HUMAN or not any(
        _WORD in message.content for message in outcome.messages
    ):
        return None
    lines = "\n".join(message.content for message in outcome.messages).splitlines()
    for at in islice(_asking(lines), _MAX_QUESTION_LINES):
        if question := _read_question_line(lines[at], islice(lines, at + 1, None), context):
            text_before = "\n".join(lines[:at]).strip()
            files = tuple(attachment for message in outcome.messages for attachment in message.attachments)
            draft = outcome.messages[0].model_copy(update={"content": text_before, "attachments": files})
            before = (draft,) if text_before else ()
            return outcome.model_copy(update={"messages": before, "question": question})
    return None


def _asking(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indices of the lines that begin like a question."""
    fenced = False
    for at, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and line.strip(_AROUND).startswith(_WORD):
            yield at


def _read_question_line(line: str, following: Iterable[str], context: TurnContext) -> Question | None:
    name, colon, text = line.strip(_AROUND).removeprefix(_WORD).partition(":")
    if not colon:
        return None
    ids = find_participants(name.strip(_AROUND + "@()[]"), context.people)
    if len(ids) != 1:
        return None
    # At most once per text: only the line with the question is read to the end of the text.
    question_text = "\n".join([text.strip(_AROUND), *following]).strip()
    return Question(to=ids[0], text=question_text[:_MAX_QUESTION]) if question_text else None


_ALONE = ("DONE", "STALLED", "APPROVED", "APPROVE")
_LONG = ("INSTRUCTION", "ITEM")
_WORDS = (*_ALONE, *_LONG, "NEXT", "TOGETHER", "HAND OFF", "HANDOFF")
_EMPHASIS = "*_`~"
_BULLETS = re.compile(r"(?:(?:[-*+•] |[>#])\s*)*")
#: A model's thoughts, and colours of a terminal, whose escape character is replaced in messages.
_THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_COLOURS = re.compile(r"[\x1b\ufffd]\[[0-9;]*[A-Za-z]")
#: `NEXT:` in other letters, or `Next speaker:` and the like.
_LOOSE = re.compile(r"^(next|together)(?: speaker| role)?s? *:", re.IGNORECASE)
_SEPARATORS = re.compile(r"[^\w]+|_")
#: Words of a sentence that chooses a speaker.
_CHOICE = re.compile(r" (?:next|role|speaker|turn|goes|should speak|choose|select|pick) ")
_REFUSAL = re.compile(r" (?:not|never|nobody|except|without|don t|doesn t|isn t|shouldn t|instead) ")
_MAX_PROSE = 500
_JSON_FIELDS = frozenset(Decision.model_fields)
_NOBODY = ("none", "nobody", "no one", "n/a", "-")
#: Maximum number of removed layers of emphasis around a line.
_LAYERS = 8
#: Maximum number of names of an answer that are looked up.
_MAX_NAMES = 1_000


@dataclass(frozen=True, slots=True)
class _Directive:
    word: str
    #: `coder` in `INSTRUCTION coder: ...`
    target: str
    text: str

    def followed_by(self, lines: Sequence[str]) -> _Directive:
        """Return the directive with the lines that belong to it."""
        return replace(self, text="\n".join(filter(None, (self.text, *lines)))) if lines else self


def read_directives(context: TurnContext, outcome: TurnOutcome) -> TurnOutcome:
    """Return the outcome with what its text directs; its content stays as it was said.

    An outcome that already carries structured fields is left alone. Names of no participant are
    kept as they were said, so that a planner can refuse them with a reason; a decision turn
    without any directive has no decision.
    """
    if context.memory is not None and outcome.learned is None:
        spoken_lines = (line for message in outcome.messages for line in _spoken_lines(message.content))
        outcome = outcome.model_copy(update={"learned": read_remarks(map(_unwrapped, spoken_lines))})
    if context.recalled is not None and not outcome.notes:
        outcome = _with_notes(context, outcome)
    structured = outcome.passed or outcome.decision or outcome.hand_off or outcome.items
    if structured or not outcome.messages:
        return outcome
    if (asking := read_question(context, outcome)) is not None:
        return asking
    text = "\n".join(message.content for message in outcome.messages)
    if _is_nothing_but(text, "PASS"):
        return outcome.model_copy(update={"passed": True, "messages": ()})
    if context.expects is Expects.DECISION:
        return outcome.model_copy(update={"decision": _read_decision(text, context)})
    directives = list(_directives(text))
    if context.expects is Expects.REVIEW:
        return outcome.model_copy(update={"decision": _verdict(directives, text)})
    if mode_of(context.mode).has_board:
        return outcome.model_copy(update=_board_changes(directives, context.roster))
    targets = _hand_offs(directives)
    hand_off = _participant_id(targets[0], context.roster) if targets else None
    return outcome.model_copy(update={"hand_off": hand_off}) if hand_off else outcome


def _with_notes(context: TurnContext, outcome: TurnOutcome) -> TurnOutcome:
    """Return the outcome with the lines `NOTE:` of its text; further ones are dropped."""
    spoken_lines = (line for message in outcome.messages for line in _spoken_lines(message.content))
    notes = read_notes(map(_unwrapped, spoken_lines))
    if len(notes) > MAX_NOTES:
        log.warning(
            "turn %s of %s: %d notes dropped, a turn may add %d",
            *(context.turn_number, context.session_id, len(notes) - MAX_NOTES, MAX_NOTES),
        )
    return outcome.model_copy(update={"notes": notes[:MAX_NOTES]}) if notes else outcome


def _read_decision(text: str, context: TurnContext) -> Decision | None:
    """Return the decision of a text in any wording with one meaning; None: it has none, or several."""
    plain = _THOUGHTS.sub("", _COLOURS.sub("", text)).replace("\\_", "_")
    decided = _decision(list(_directives(plain)), context.roster)
    if decided is not None:
        return decided
    loud = "\n".join(
        _LOOSE.sub(lambda match: f"{match[1].upper()}:", _unwrapped(line)) for line in plain.splitlines()
    )
    decided = _decision(list(_directives(loud)), context.roster)
    return decided or _json_decision(plain, context.roster) or _named_speaker(plain, context)


def _json_decision(text: str, roster: Sequence[Participant]) -> Decision | None:
    """Return the decision of an answer that is nothing but JSON, such as `{"next": "coder"}`."""
    lines = list(_spoken_lines(text))
    try:
        data = json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    # Names of no participant are kept, so that a planner can refuse them.
    fields = {str(key).casefold(): value for key, value in data.items()}
    if isinstance(fields.get("next"), str):
        fields["next"] = [fields["next"]]
    if not fields.keys() & {"next", "satisfied"}:
        return None
    try:
        read = Decision.model_validate({key: fields[key] for key in fields if key in _JSON_FIELDS})
    except ValidationError:
        return None
    return read.model_copy(update={"next": tuple(_participant_id(name, roster) for name in read.next)})


def _named_speaker(text: str, context: TurnContext) -> Decision | None:
    """Return the decision of an answer that names one other participant, alone or in a short sentence."""
    if len(text) > _MAX_PROSE or len(context.roster) > _MAX_NAMES:
        return None
    others = [
        participant
        for participant in context.roster
        if participant.participant_id != context.me.participant_id
    ]
    padded_text = f" {_SEPARATORS.sub(' ', text).casefold().strip()} "
    named = {
        participant.participant_id
        for participant in others
        for name in (participant.participant_id, participant.display_name, participant.role_id)
        if name and f" {_SEPARATORS.sub(' ', name).casefold().strip()} " in padded_text
    }
    if len(named) != 1:
        return None
    alone = padded_text.strip() in {
        _SEPARATORS.sub(" ", name).casefold().strip() for name in _names_of(named, others)
    }
    return (
        Decision(next=tuple(named))
        if alone or (_CHOICE.search(padded_text) and not _REFUSAL.search(padded_text))
        else None
    )


def _names_of(ids: set[str], roster: Sequence[Participant]) -> list[str]:
    participants = [participant for participant in roster if participant.participant_id in ids]
    return [
        name
        for participant in participants
        for name in (participant.participant_id, participant.display_name, participant.role_id)
        if name
    ]


def _decision(directives: Sequence[_Directive], roster: Sequence[Participant]) -> Decision | None:
    by_word = {directive.word: directive.text for directive in directives}
    if not by_word.keys() & {"NEXT", "TOGETHER", "DONE", "STALLED"}:
        return None
    speakers = _people((d.text for d in directives if d.word in ("NEXT", "TOGETHER")), roster)
    instruction_lines = [d for d in directives if d.word == "INSTRUCTION"]
    general = "\n".join(d.text for d in instruction_lines if not d.target)
    return Decision(
        # A decision that names a speaker is not done, with any other directive.
        satisfied="DONE" in by_word and not speakers,
        progress="STALLED" not in by_word,
        next=tuple(speakers),
        side_by_side="TOGETHER" in by_word and "NEXT" not in by_word,
        instruction=general[:8_000],
        instructions={
            _participant_id(d.target, roster): d.text[:8_000]
            for d in instruction_lines[:_MAX_NAMES]
            if d.target
        },
        reason=(by_word.get("DONE") or by_word.get("STALLED") or "")[:2_000],
    )


def _verdict(directives: Sequence[_Directive], text: str) -> Decision | None:
    reasons = [directive.text for directive in directives if directive.word in ("APPROVED", "APPROVE")]
    if _is_nothing_but(text, "APPROVED") or _is_nothing_but(text, "APPROVE"):
        reasons = [""]
    return Decision(satisfied=True, reason=reasons[0][:2_000]) if reasons else None


def _board_changes(directives: Sequence[_Directive], roster: Sequence[Participant]) -> dict[str, object]:
    targets = _hand_offs(directives)
    items = [d for d in directives if d.word == "ITEM" and d.text]
    return {
        "hand_off": _participant_or_role(targets[0], roster) if targets else None,
        "items": tuple(
            NewItem(
                text=item.text[:8_000],
                role=_participant_or_role(item.target, roster) if item.target else None,
            )
            for item in items[:100]
        ),
    }


def _hand_offs(directives: Sequence[_Directive]) -> list[str]:
    return [d.text for d in directives if d.word in ("HAND OFF", "HANDOFF") and d.text]


def _directives(text: str) -> Iterator[_Directive]:
    """Yield the directives of a text, in order, each with the lines that belong to it."""
    current: _Directive | None = None
    more: list[str] = []
    goes_on = False
    for line in _spoken_lines(text):
        directive = _read_line(line)
        if directive:
            if current:
                yield current.followed_by(more)
            current, more = directive, []
            goes_on = directive.word in _LONG or not directive.text
        elif current and goes_on and line.strip():
            more.append(line.strip())
        elif current and (current.text or more):
            goes_on = False
    if current:
        yield current.followed_by(more)


def _spoken_lines(text: str) -> Iterator[str]:
    lines = text.strip().splitlines()
    fences = {i for i, line in enumerate(lines) if line.lstrip().startswith("```")}
    if len(lines) > 1 and fences == {0, len(lines) - 1}:
        lines, fences = lines[1:-1], set()
    fenced = False
    for i, line in enumerate(lines):
        if i in fences:
            fenced = not fenced
        elif not fenced:
            yield line


def _read_line(line: str) -> _Directive | None:
    plain = _unwrapped(line)
    head, colon, rest = plain.partition(":")
    if not colon:
        word = plain.rstrip(".! ")
        return _Directive(word, "", "") if word in _ALONE else None
    marks = head[: len(head) - len(head.lstrip(_EMPHASIS))]
    text = rest.strip().removeprefix(marks[::-1]).strip()
    head = head.strip(_EMPHASIS + " ")
    word = head.replace("-", " ").replace("_", " ")
    if word in _WORDS:
        return _Directive(word, "", text)
    word, _, target = head.partition(" ")
    target = target.strip(_EMPHASIS + " ()[]@")
    return _Directive(word, target, text) if word in _LONG and target else None


def _unwrapped(line: str) -> str:
    """Return the line without bullets, numbers, headings and emphasis around all of it."""
    plain = _BULLETS.sub("", line.strip(), count=1)
    number, dot, rest = plain.partition(". ")
    plain = rest.lstrip() if dot and number.isdigit() else plain
    for _ in range(_LAYERS):
        if len(plain) < 2 or plain[0] not in _EMPHASIS or plain[-1] != plain[0]:
            break
        plain = plain[1:-1].strip()
    return plain


def _is_nothing_but(text: str, word: str) -> bool:
    return _unwrapped(text).strip("[]().!\"' ").casefold() == word.casefold()


def _people(texts: Iterable[str], roster: Sequence[Participant]) -> list[str]:
    """Return the people meant by names such as `coder, tester`, `coder and tester`, or one per line."""
    names = (name for part in islice(_parts(texts), _MAX_NAMES) for name in _split(part, roster))
    people = [_participant_id(name, roster) for name in islice(names, _MAX_NAMES)]
    return [
        name
        for name in people
        if name and (name.casefold() not in _NOBODY or find_participants(name, roster))
    ]


def _parts(texts: Iterable[str]) -> Iterator[str]:
    return (part for text in texts for part in re.split(r"[,;\n]", text))


def _split(part: str, roster: Sequence[Participant]) -> list[str]:
    """Return `coder and tester` as two names, unless it is one participant's name."""
    return [part] if find_participants(part, roster) else re.split(r"(?<= )(?:and|&)(?= )", f" {part} ")


def _bare(name: str) -> str:
    name = name if name.lstrip()[:1] == "(" else name.partition(" (")[0]
    return _unwrapped(name).strip(_EMPHASIS + " .\"'()[]@")


def _participant_id(name: str, roster: Sequence[Participant]) -> str:
    """Return the id of the one participant who is meant; the name as it was said for none or several."""
    ids = find_participants(name, roster) or find_participants(_bare(name), roster)
    return ids[0] if len(ids) == 1 else _bare(name)[:200]


def _participant_or_role(name: str, roster: Sequence[Participant]) -> str:
    return (
        find_participant_or_role(name, roster)
        or find_participant_or_role(_bare(name), roster)
        or _bare(name)[:200]
    )
