"""The dialog as a model's history: the newest messages that fit, and a line or a rolling summary for the rest. Pure.

The system prompt, which contains the purpose, and the request of the turn are always included. The newest
messages of the dialog are included within the token budget of the agent. In a review, the opening message
with the reviewed text is always included, or the turn fails: nothing that a model has not seen may count as
reviewed.

A dialog that no longer fits is cut in one step to its newer half, and the place of the cut is kept until what
follows no longer fits. Between two cuts each request therefore begins like the one before it, which providers cache;
with a window that moves with each message they could cache nothing. The cut belongs to one participant. It is stored
as the note of the participant, because a turn reads a limited number of messages and cannot derive it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from pydantic import Field
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from ...models.errors import AgentFailed
from ...models.prompts.layout import Prompt, format_message, format_note, is_own
from ...models.prompts.plain import plain_prompt
from ...models.protocol.dialog import Message, Role, message_digest
from ...models.turns.frozen import Frozen
from ...models.turns.message_lists import estimate_tokens, recent_messages
from ...models.turns.turn import REVIEW_PARAMETER, TurnContext


@dataclass(frozen=True, slots=True)
class ModelHistory:
    """Messages for a model besides its system prompt."""

    earlier: list[ModelMessage]
    #: The newest messages of the others, and the request of the turn.
    prompt: str
    #: The messages of the turn that are shown.
    messages: Sequence[Message]
    #: Number of messages that are left out or cut.
    left_out: int = 0
    #: The system prompt.
    system: str = ""


class DialogCut(Frozen):
    """Place up to which the dialog of one participant is left out, and what is shown instead."""

    #: Summary of the messages before the cut; empty: none.
    text: str = ""
    #: Digest of the last message before the cut; empty: nothing is left out.
    until: str = ""
    #: Number of messages before the cut, without the opening if it is shown.
    covered: int = Field(default=0, ge=0)
    #: The opening message, which is still shown. Never set for agents with a summary, which covers it: workers of
    #: version 0.1.0 read their notes, and refuse this field.
    opening: str = Field(default="", exclude_if=lambda text: not text)

    def lines(self, _max_tokens: int) -> list[str]:
        """Return what is shown in place of the messages before the cut."""
        if self.text:
            return [f"What was said before, in short: {self.text}"]
        return [LEFT_OUT]

    def remaining_tokens(self, max_tokens: int) -> int:
        """Return the tokens left for the messages after the cut, at least a quarter of `max_tokens`."""
        needed = sum(estimate_tokens(line) for line in self.lines(max_tokens))
        return max(max_tokens - needed, max_tokens // 4, 1)

    def moved(self, left_out: Sequence[Message], text: str = "") -> DialogCut:
        """Return the cut after further messages, with the summary that a model wrote."""
        shown = 1 if self.opening and not self.until else 0
        covered = self.covered + len(left_out) - shown
        until = message_digest(left_out[-1])
        return DialogCut(text=text, until=until, covered=covered, opening=self.opening)


#: Line in place of messages that are left out without a summary.
LEFT_OUT = "[Earlier messages are left out.]"
NO_CUT = DialogCut()


def build_history(
    turn: TurnContext, prompt: Prompt | str, *, max_tokens: int, cut: DialogCut = NO_CUT
) -> ModelHistory:
    """Return the dialog of a turn within a token limit.

    User and assistant alternate strictly and the user begins: many chat templates refuse anything else.

    Args:
        turn: The turn.
        prompt: Parts of the request; the system prompt for a small model, which gets the rest in one prompt.
        max_tokens: Maximum tokens of the dialog.
        cut: Place after which messages are shown.

    Raises:
        AgentFailed: The opening message of a review does not fit.
    """
    before, room = [], max_tokens
    if cut.until:
        before, room = cut.lines(max_tokens), cut.remaining_tokens(max_tokens)
    rest = _after(turn.messages, cut)
    messages, left_out = fit_messages(rest, room, pinned=int(has_pinned_opening(turn)))
    left_out += cut.covered
    digests = {message_digest(message) for message in turn.opening}
    dialog = [message for message in messages if message_digest(message) not in digests]
    shown = [*turn.opening, *dialog]
    if isinstance(prompt, str):
        text = plain_prompt(turn, messages, before=before)
        return ModelHistory([], text, shown, left_out, prompt)
    paragraphs = [(False, prompt.task), *((False, format_note(line)) for line in before)]
    paragraphs += [_said(message, turn) for message in dialog]
    paragraphs.append((False, prompt.turn))
    blocks = [
        (mine, "\n\n".join(text for _, text in block))
        for mine, block in groupby(paragraphs, key=itemgetter(0))
    ]
    *earlier, (_, last) = blocks
    system = "\n\n".join(filter(None, (prompt.session, prompt.participant)))
    return ModelHistory([_message(mine, text) for mine, text in earlier], last, shown, left_out, system)


def _said(message: Message, turn: TurnContext) -> tuple[bool, str]:
    mine = is_own(message, turn)
    return mine, message.content if mine else format_message(message, turn)


def _message(mine: bool, text: str) -> ModelMessage:
    return ModelResponse(parts=[TextPart(text)]) if mine else ModelRequest(parts=[UserPromptPart(text)])


def has_pinned_opening(turn: TurnContext) -> bool:
    """Return whether the first message is the opening of a review."""
    return REVIEW_PARAMETER in turn.parameters and bool(turn.messages) and turn.messages[0].speaker is None


def fit_messages(
    messages: Sequence[Message], max_tokens: int, *, pinned: int = 0
) -> tuple[Sequence[Message], int]:
    """Return the newest messages that fit, and the number of the others; the newest is cut if too long.

    Args:
        messages: The dialog.
        max_tokens: Maximum tokens of the messages together.
        pinned: Number of messages at the beginning that are included unchanged.

    Raises:
        AgentFailed: The pinned messages do not fit.
    """
    first, rest = messages[:pinned], messages[pinned:]
    needed = sum(estimate_tokens(message.content) for message in first)
    if first and needed > max_tokens:
        rule = f"the reviewed text needs {needed:,} tokens, and the model or the budget allows {max_tokens:,}"
        raise AgentFailed(rule, retryable=False)
    room = max_tokens - needed
    recent = recent_messages(rest, room)
    if recent or not rest or not room:
        return [*first, *recent], len(rest) - len(recent)
    newest = rest[-1]
    return [*first, newest.changed(content=f"...{newest.content[-2 * room :]}")], len(rest)


SUMMARY_INSTRUCTIONS = (
    "You keep the minutes of a conversation. Summarise in few words what was said: facts, decisions and by whom, "
    "open questions. Answer with the minutes and nothing else."
)


@dataclass(frozen=True, slots=True)
class DialogLimits:
    """Limits of the dialog in a request."""

    tokens: int
    #: Number of messages at which the dialog is cut; 0: no limit.
    messages: int = 0

    def allow(self, messages: Sequence[Message], max_tokens: int) -> bool:
        """Return whether messages are shown without a cut."""
        is_short = not self.messages or len(messages) < self.messages
        return is_short and sum(estimate_tokens(message.content) for message in messages) <= max_tokens


@dataclass(frozen=True, slots=True)
class SplitDialog:
    """A dialog after its last cut, split into messages to leave out and messages to show."""

    #: Messages to leave out from now on; usually none.
    to_leave_out: Sequence[Message]
    #: Messages to show unchanged.
    to_show: Sequence[Message]


def split_dialog(messages: Sequence[Message], cut: DialogCut, limits: DialogLimits) -> SplitDialog:
    """Split a dialog: the older half of what no longer fits, and the rest."""
    rest, room = _after(messages, cut), cut.remaining_tokens(limits.tokens)
    if limits.allow(rest, room):
        return SplitDialog((), rest)
    kept = recent_messages(rest[-(limits.messages // 2) :], room // 2) or rest[-1:]
    return SplitDialog(rest[: len(rest) - len(kept)], kept)


def _after(messages: Sequence[Message], cut: DialogCut) -> Sequence[Message]:
    """Return the messages after a cut: all of them if its place is no longer in the window."""
    if not cut.until:
        return messages
    digests = [message_digest(message) for message in messages]
    return messages[digests.index(cut.until) + 1 :] if cut.until in digests else messages


def first_cut(turn: TurnContext, limits: DialogLimits, *, window: int) -> DialogCut:
    """Return the cut of a dialog that was never cut: it keeps the opening, if a user wrote one."""
    first, is_whole = turn.messages[0], not window or len(turn.messages) < window
    is_opening = is_whole and first.role is Role.USER and first.author is None
    has_room = estimate_tokens(first.content) <= limits.tokens // 2
    return DialogCut(opening=first.content) if is_opening and has_room else NO_CUT


def summary_prompt(turn: TurnContext, summary: str, folded: Sequence[Message]) -> str:
    """Return the prompt that requests the next summary: the current one, and the messages to add."""
    lines = [format_message(message, turn) for message in folded]
    before = [f"Minutes so far: {summary}", ""] if summary else []
    return "\n".join([f"Purpose: {turn.purpose}", *before, *lines])
