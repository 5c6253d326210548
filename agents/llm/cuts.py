"""Which messages of a dialog a model is shown: all of them, or those after a cut. Pure.

A dialog grows until it no longer fits. Then it is cut in one step to its newer half, and the place of the cut is kept
until what follows no longer fits. Between two cuts each request therefore begins like the one before it, which
providers cache; with a window that moves with each message they could cache nothing. The cut belongs to one
participant. It is stored as the note of the participant, because a turn reads a limited number of messages and cannot
derive it.

A note in the prompt says how many messages are left out, or holds minutes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from pydantic import Field

from ...models.modes.texts.common import indented
from ...models.prompts.layout import dialog_of, format_message, format_note, is_own
from ...models.protocol.collab import ParticipantKind
from ...models.protocol.dialog import Message, Role, message_digest
from ...models.text.json_text import dump_json, parse_json
from ...models.text.tags import escape_tags, write_tag
from ...models.text.words import count_of
from ...models.turns.frozen import Frozen
from ...models.turns.message_lists import estimate_tokens, newest_that_fit
from ...models.turns.tool_uses import ToolUse, tool_uses_of
from ...models.turns.turn import TurnContext

#: Tokens that a message costs besides its text.
_MESSAGE_TOKENS = 4
#: Words of minutes: a part of the window, within these limits.
_LEAST_WORDS, _MOST_WORDS, _TOKENS_PER_WORD = 40, 400, 40


@dataclass(frozen=True, slots=True)
class Block:
    """One message as a model is shown it, in this and in every later request."""

    message: Message
    #: The message with its content shortened, if it is very long.
    shown: Message
    #: Whether it is one of the participant that is shown it.
    is_own: bool
    text: str
    #: Estimate of its tokens.
    tokens: int
    #: Tool calls before the message, if it is one of the participant.
    tool_uses: Sequence[ToolUse] = ()


def render_blocks(turn: TurnContext, max_tokens: int, *, with_tools: bool = False) -> list[Block]:
    """Return the messages of a turn without the opening, which is part of the task.

    Args:
        turn: The turn.
        max_tokens: Maximum tokens of the dialog; a message above half of them keeps its beginning and its end.
        with_tools: Whether the participant's own tool calls are shown; APIs refuse them in a request without tools.
    """
    return [_render(message, turn, max_tokens // 2, with_tools=with_tools) for message in dialog_of(turn)]


def _render(message: Message, turn: TurnContext, most: int, *, with_tools: bool) -> Block:
    own = is_own(message, turn)
    shown = message.changed(content=shorten(message.content, most))
    # APIs refuse an own message that is blank or ends in white space.
    text = shown.content.rstrip() or "..." if own else format_message(shown, turn)
    uses = tool_uses_of(message) if own and with_tools else ()
    tokens = estimate_tokens(text) + _MESSAGE_TOKENS
    tokens += sum(estimate_tokens(dump_json(use.arguments) + use.result) + _MESSAGE_TOKENS for use in uses)
    return Block(message, shown, own, text, tokens, uses)


def shorten(text: str, max_tokens: int) -> str:
    """Return a text of at most about `max_tokens`: if it is longer, its beginning, a marker and its end."""
    tokens = estimate_tokens(text)
    if tokens <= max_tokens:
        return text
    kept = len(text) * max_tokens // tokens
    head, tail = text[: kept // 3], text[len(text) - (kept - kept // 3) :]
    return f"{head}\n[{tokens - max_tokens:,} tokens left out]\n{tail}"


#: Beginning of an `opening` with fields that version 0.1.0 does not know.
_MORE = "Also shown: "


class DialogCut(Frozen):
    """Place up to which the dialog of one participant is left out, and what is shown instead."""

    #: Minutes of the messages before the cut; empty: none.
    text: str = ""
    #: Digest of the last message before the cut; empty: nothing is left out.
    until: str = ""
    #: Number of messages before the cut, without the opening.
    covered: int = Field(default=0, ge=0)
    #: In notes of earlier releases, the opening message. It is part of the task now.
    opening: str = Field(default="", exclude_if=lambda text: not text)
    #: Maximum tokens of the dialog, after the provider has refused a longer one; 0: that of the settings.
    tokens: int = Field(default=0, ge=0)
    #: The newest message of a person before the cut, which is still shown; as a block.
    person: str = ""
    #: The message before the cut with the instruction of the turn that cut; as a block.
    asked: str = ""

    @classmethod
    def from_note(cls, note: str) -> DialogCut:
        """Return the cut that a participant's note holds.

        Raises:
            ValueError: It holds none.
        """
        fields = parse_json(note)
        if isinstance(fields, dict) and str(fields.get("opening", "")).startswith(_MORE):
            more = parse_json(str(fields.pop("opening")).removeprefix(_MORE))
            fields |= more if isinstance(more, dict) else {}
        return cls.model_validate(fields)

    def to_note(self) -> str:
        """Return the note of the participant.

        Workers of version 0.1.0 refuse unknown fields: the later ones are in `opening`, which such a worker shows.
        """
        later = {"tokens", "person", "asked"}
        fields = self.model_dump(mode="json", exclude=later)
        if more := self.model_dump(mode="json", include=later, exclude_defaults=True):
            fields["opening"] = _MORE + dump_json(more)
        return dump_json(fields)

    @property
    def pinned(self) -> tuple[str, ...]:
        """Blocks of messages before the cut that are still shown."""
        return tuple(filter(None, (self.person, self.asked)))

    def remaining_tokens(self, max_tokens: int) -> int:
        """Return the tokens left for the messages after the cut, at least a quarter of `max_tokens`."""
        needed = sum(estimate_tokens(text) for text in (self.text, *self.pinned))
        return max(max_tokens - needed, max_tokens // 4, 1)

    def moved(
        self, left_out: Sequence[Block], text: str = "", *, person: str = "", asked: str = ""
    ) -> DialogCut:
        """Return the cut after further messages, with the minutes that a model wrote."""
        return DialogCut(
            text=text,
            until=message_digest(left_out[-1].message),
            covered=self.covered + len(left_out),
            tokens=self.tokens,
            person=person or self.person,
            asked=asked,
        )

    def lines(self, shown: Sequence[Message], *, plain: bool = False) -> list[str]:
        """Return the text that replaces the messages before the cut.

        Args:
            shown: The messages after the cut.
            plain: Whether without tags, for a small model.
        """
        if not self.until:
            return []
        turns = _turns_before(shown)
        left_out = self.covered - len(self.pinned)
        note = f"{count_of(left_out, 'earlier message', spec=',')} {f'({turns}) ' if turns else ''}"
        note += "is left out." if left_out == 1 else "are left out."
        if self.text:
            # Minutes quote messages, so they may contain anything.
            text = indented(self.text) if plain else escape_tags(self.text)
            note = f"Minutes of {turns or 'the beginning'}, which {_are(turns)} left out: {text}"
        if plain:
            return [f"[{note}]", *(f"  {indented(block)}" for block in self.pinned)]
        return [format_note(note), *self.pinned]


def _turns_before(shown: Sequence[Message]) -> str:
    """Return the turns whose messages are left out in words; empty: unknown."""
    first = next((message.turn_number for message in shown if message.turn_number is not None), None)
    if first is None or first < 2:
        return ""
    return "turn 1" if first == 2 else f"turns 1 to {first - 1}"


def _are(turns: str) -> str:
    return "are" if turns.startswith("turns") else "is"


NO_CUT = DialogCut()


@dataclass(frozen=True, slots=True)
class DialogLimits:
    """Limits of the dialog in a request."""

    tokens: int
    #: Number of messages at which the dialog is cut; 0: no limit.
    messages: int = 0

    def allow(self, blocks: Sequence[Block], max_tokens: int) -> bool:
        """Return whether messages are shown without a cut."""
        is_short = not self.messages or len(blocks) < self.messages
        return is_short and sum(block.tokens for block in blocks) <= max_tokens


@dataclass(frozen=True, slots=True)
class SplitDialog:
    """A dialog after its last cut, split into messages to leave out and messages to show."""

    #: Messages to leave out from now on; usually none.
    to_leave_out: Sequence[Block]
    #: Messages to show unchanged.
    to_show: Sequence[Block]


def split_dialog(blocks: Sequence[Block], cut: DialogCut, limits: DialogLimits) -> SplitDialog:
    """Split a dialog: the older half of what no longer fits, and the rest."""
    rest, room = _after(blocks, cut), cut.remaining_tokens(limits.tokens)
    if limits.allow(rest, room):
        return SplitDialog((), rest)
    most = limits.messages // 2 or len(rest)
    begin = len(rest) - min(max(len(newest_that_fit(rest, room // 2, attrgetter("tokens"))), 1), max(most, 1))
    # The messages of one turn stay together.
    while 0 < begin < len(rest) - 1 and _is_same_turn(rest[begin - 1].message, rest[begin].message):
        begin += 1
    return SplitDialog(rest[:begin], rest[begin:])


def first_blocks(blocks: Sequence[Block], max_tokens: int) -> Sequence[Block]:
    """Return the oldest messages that fit."""
    end = 0
    while end < len(blocks) and blocks[end].tokens <= max_tokens:
        max_tokens -= blocks[end].tokens
        end += 1
    return blocks[:end]


def _is_same_turn(first: Message, second: Message) -> bool:
    return first.turn_number is not None and first.turn_number == second.turn_number


def _after(blocks: Sequence[Block], cut: DialogCut) -> Sequence[Block]:
    """Return the messages after a cut: all of them if its place is no longer in the window."""
    if not cut.until:
        return blocks
    digests = [message_digest(block.message) for block in blocks]
    return blocks[digests.index(cut.until) + 1 :] if cut.until in digests else blocks


def newest_of_person(left_out: Sequence[Block], turn: TurnContext) -> Block | None:
    """Return the newest message of a person among messages to leave out; None: there is none."""
    people = {p.participant_id for p in turn.roster if p.kind is ParticipantKind.HUMAN}
    return next(
        (b for b in reversed(left_out) if b.message.role is Role.USER or b.message.author in people), None
    )


def newest_instruction(left_out: Sequence[Block], turn: TurnContext) -> Block | None:
    """Return the message with the instruction of the turn among messages to leave out; None: there is none."""
    text = turn.instruction.strip()
    return next((b for b in reversed(left_out) if text and text in b.message.content), None)


def pin(block: Block | None, turn: TurnContext, max_tokens: int) -> str:
    """Return the block of a message that stays, of at most an eighth of the dialog; empty without one."""
    if block is None or block.is_own:
        return ""
    content = shorten(block.message.content, max_tokens // 8)
    return format_message(block.message.changed(content=content), turn)


def minutes_request(to_leave_out: Sequence[Block], max_tokens: int, *, has_minutes: bool) -> str:
    """Return the request for the minutes of messages that will be left out.

    Args:
        to_leave_out: The messages.
        max_tokens: Maximum tokens of the dialog.
        has_minutes: Whether there are minutes of messages before.
    """
    turn_number = next((b.message.turn_number for b in reversed(to_leave_out) if b.message.turn_number), None)
    what = (
        f"The messages up to turn {turn_number}" if turn_number else f"The first {len(to_leave_out)} messages"
    )
    words = min(max(max_tokens // _TOKENS_PER_WORD, _LEAST_WORDS), _MOST_WORDS)
    earlier = (
        " Take over what still counts of the minutes so far, which are left out as well."
        if has_minutes
        else ""
    )
    return write_tag(
        "turn",
        f"{what} will be left out. Write their minutes for your own later use: facts and figures, decisions and "
        "whose they are, what each participant holds and why, what was tried and failed, what is open."
        f"{earlier} At most {words} words, nothing else. Call no tool.",
    )
