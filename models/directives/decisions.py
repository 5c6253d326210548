"""The decision of an orchestrator, read from text in any wording with one meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from ..text.lax_json import read_objects
from ..text.redact import excerpt
from ..text.thinking import read_plainly
from ..turns.turn import Decision, TurnContext
from .lines import Directive, is_nothing_but, read_lines, split_lines, unwrap
from .names import MAX_NAMES, NOBODY, NamedSpeakers, Names, plain_name

#: Minimum characters of an answer after `DONE:`.
MIN_ANSWER = 40
MAX_ANSWER = 32_768
_MAX_INSTRUCTION = 8_000
_MAX_REASON = 2_000
_MAX_PROSE = 500
#: Maximum number of names in a note.
_MAX_NOTED = 5
_DONE = ("DONE", "TERMINATE", "FINISH")
#: `NEXT:` in other letters and with other marks, or `Next speaker:` and the like.
_LOOSE = re.compile(
    r"^(next|together)(?:\s(?:speaker|role|participant)s?)?\s*(?P<mark>:|[-\u2013—=]+>?|is\s|\s)\s*",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(r"(?:not\s+(?:yet|done|quite|really|finished)|nearly|almost)\b", re.IGNORECASE)
_NO = re.compile(r"no\s*[,.;:!-]", re.IGNORECASE)
_QUOTED = re.compile(r"\s*[>\"'“\u2018«]")
_CLAUSES = re.compile(r"[.,;:!?\n]")
_NEGATION = re.compile(
    r" (?:not|never|no|nobody|except|without|cannot|can t|don t|doesn t|isn t|shouldn t|mustn t|instead of) "
)
_JSON_FIELDS = frozenset(Decision.model_fields) - {"fault"}
_JSON_NAMES = ("next", "next_speaker", "speaker")


def read_decision(text: str, context: TurnContext) -> Decision | None:
    """Return the decision of a text; None: it has none. A decision with several meanings has a `fault`."""
    names = Names(context.roster)
    plain = read_plainly(text)
    if (decided := _from_json(plain, names, whole=True)) is not None:
        return decided
    plain = "\n".join(_without_own_name(line, context) for line in plain.split("\n"))
    if any(is_nothing_but(plain, word) for word in _DONE):
        return Decision(satisfied=True)
    for reading in (plain, _loudly(plain, names)):
        if (decided := _from_lines(reading, names, context)) is not None:
            return decided
    return _from_json(plain, names, whole=False) or _from_prose(plain, names, context)


def _without_own_name(line: str, context: TurnContext) -> str:
    """Return a line without the name of its author in front, if a directive follows it."""
    head, colon, rest = line.partition(":")
    own = (context.me.participant_id, context.me.display_name)
    if colon and len(head) < 200 and plain_name(head) in {plain_name(name) for name in own if name}:
        return rest.strip()
    return line


def _loudly(text: str, names: Names) -> str:
    """Return a text with the directives `NEXT` and `TOGETHER` of other wordings in their own form."""
    lines = []
    for line in split_lines(text):
        plain = unwrap(line.text)
        match = None if line.is_code else _LOOSE.match(plain)
        if match:
            rest = plain[match.end() :]
            has_colon = match["mark"] == ":"
            if has_colon or _are_participants(rest, names):
                lines.append(f"{match[1].upper()}: {rest}")
                continue
        lines.append(line.text)
    return "\n".join(lines)


def _are_participants(text: str, names: Names) -> bool:
    """Return whether a text begins with names of participants and nothing else stands for a name."""
    read = names.read([text])
    return bool(read.everybody or read.names) and all(names.find(name) for name in read.names)


def _from_lines(text: str, names: Names, context: TurnContext) -> Decision | None:
    lines = text.splitlines()
    directives = [d for d in read_lines(text) if d.word not in _DONE or not _QUOTED.match(lines[d.at])]
    done = next((d for d in directives if d.word in _DONE), None)
    chosen = [d for d in directives if d.word in ("NEXT", "TOGETHER")]
    if done is not None:  # within an answer, only a line that names participants is a directive
        chosen = [d for d in chosen if d.at < done.at or _are_participants(d.text, names)]
    stalled = next((d for d in directives if d.word == "STALLED"), None)
    if done is None and not chosen and stalled is None:
        return None
    named = names.read(d.text for d in chosen)
    if named.choices:
        return Decision(fault=name_one(named.choices))
    reason = (done or stalled or Directive("", "", named.reason)).text
    if done is not None and not named.names and not named.everybody:
        answer = _answer(text, done)
        if (refused := _not_done(answer, names, context)) is not None:
            return refused if refused.next or refused.fault else None
        return Decision(
            satisfied=True,
            progress=stalled is None or stalled.at > done.at,
            answer=answer if len(answer) >= MIN_ANSWER else "",
            reason=answer.strip().partition("\n")[0][:_MAX_REASON],
        )
    if chosen and not named.names and not named.everybody and _is_nobody(chosen):
        return Decision(satisfied=True, reason=reason[:_MAX_REASON])
    return _chosen(directives, chosen, named, names, context).model_copy(
        update={"progress": stalled is None, "reason": reason[:_MAX_REASON]}
    )


def _is_nobody(chosen: Sequence[Directive]) -> bool:
    return any(plain_name(d.text) in NOBODY - {""} for d in chosen)


def _answer(text: str, done: Directive) -> str:
    """Return all text after `DONE:`, as it was written."""
    lines = text.splitlines()
    first = unwrap(lines[done.at])
    rest = first.partition(":")[2].strip(" *_`") if ":" in first else ""
    return "\n".join((rest, *lines[done.at + 1 :])).strip()[:MAX_ANSWER]


def _not_done(answer: str, names: Names, context: TurnContext) -> Decision | None:
    """Return the decision of `DONE: not yet` and the like, which has a speaker if one is named; None: it is done."""
    others = [name for name in names.in_text(answer[:_MAX_PROSE]) if name != context.me.participant_id]
    is_short = len(answer) < 200
    if not is_short or not (
        _NOT_DONE.match(answer) or (_NO.match(answer) and (others or len(answer) < MIN_ANSWER))
    ):
        return None
    if len(others) > 1:
        return Decision(fault=name_one(others))
    return Decision(next=tuple(others), reason=answer[:_MAX_REASON])


def _chosen(
    directives: Sequence[Directive],
    chosen: Sequence[Directive],
    named: NamedSpeakers,
    names: Names,
    context: TurnContext,
) -> Decision:
    told = [d for d in directives if d.word == "INSTRUCTION"]
    speakers = named.names
    if named.everybody:
        others = (p.participant_id for p in context.roster if p.participant_id != context.me.participant_id)
        speakers = tuple(others)[:MAX_NAMES]
    together = named.everybody or all(d.word == "TOGETHER" for d in chosen)
    instructions = dict(named.instructions) | {
        names.resolve(d.target): d.text for d in told[:MAX_NAMES] if d.target
    }
    return Decision(
        next=tuple(dict.fromkeys(speakers)),
        side_by_side=bool(chosen) and together,
        instruction="\n".join(d.text for d in told if not d.target)[:_MAX_INSTRUCTION],
        instructions={name: text[:_MAX_INSTRUCTION] for name, text in instructions.items() if text},
    )


def _from_json(text: str, names: Names, *, whole: bool) -> Decision | None:
    """Return the decision of JSON in a text, such as `{"next": "coder"}`; the last one counts."""
    decisions = [read for data in read_objects(text, whole=whole) if (read := _from_object(data, names))]
    return decisions[-1] if decisions else None


def _from_object(data: dict[str, Any], names: Names) -> Decision | None:
    fields = {str(key).casefold(): value for key, value in data.items()}
    given: Any = next((fields[name] for name in _JSON_NAMES if fields.get(name)), [])
    if not given and not isinstance(fields.get("satisfied"), bool):
        return None
    speakers, instructions = [], {}
    for entry in given if isinstance(given, list) else [given]:
        if isinstance(entry, dict):
            speakers.append(names.resolve(str(entry.get("name", ""))))
            instructions[speakers[-1]] = str(entry.get("instruction", ""))[:_MAX_INSTRUCTION]
        elif isinstance(entry, str):
            speakers += names.read([entry]).names
        else:
            return None
    fields |= {"next": speakers}
    fields["instructions"] = {
        **{name: text for name, text in instructions.items() if text},
        **_as_dict(fields),
    }
    try:
        return Decision.model_validate({key: fields[key] for key in fields if key in _JSON_FIELDS})
    except ValidationError:
        return None


def _as_dict(fields: dict[str, Any]) -> dict[str, Any]:
    given = fields.get("instructions")
    return given if isinstance(given, dict) else {}


def _from_prose(text: str, names: Names, context: TurnContext) -> Decision | None:
    """Return the decision of an answer that names one other participant, alone or in a text."""
    if len(text) > _MAX_PROSE or len(context.roster) > MAX_NAMES:
        return None
    others = [name for name in names.in_text(text) if name != context.me.participant_id]
    if len(others) > 1:
        return Decision(fault=name_one(others))
    if not others:
        return None
    clauses = [clause for clause in _CLAUSES.split(text) if others[0] in names.in_text(clause)]
    if any(_NEGATION.search(f" {plain_name(clause)} ") for clause in clauses):
        rest = [
            p.participant_id
            for p in context.roster
            if p.participant_id not in (others[0], context.me.participant_id)
        ]
        return Decision(fault=name_one(rest))
    return Decision(next=tuple(others))


def name_one(names: Sequence[str]) -> str:
    """Return the note for a text with several names."""
    forms = [f"NEXT: {excerpt(name)}" for name in names[:_MAX_NOTED]]
    if not forms:
        return ""
    return f"Name one: {' or '.join(filter(None, (', '.join(forms[:-1]), forms[-1])))}."
