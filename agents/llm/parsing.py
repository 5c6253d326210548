"""What an answer of a model means, when it is not what was asked for.

Each answer is read in this order: finish reason, repaired tool calls, JSON in text, directives, wording. An answer that
has no meaning is sent back once in a turn, with a note that says what was wrong; then the fallback decides. Exceptions
leave the run of pydantic-ai, and the agent continues as they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters

from ...models.directives import read_directives
from ...models.directives.review_answers import answer_fault
from ...models.modes.decisions import check_decision
from ...models.prompts.layout import has_guide
from ...models.sessions.limits import has_budget_to_ask_again
from ...models.text.json_text import dump_json
from ...models.text.lax_json import fit, read_one
from ...models.text.thinking import is_empty
from ...models.turns.turn import REVIEW_PARAMETER, Decision, Expects, TurnContext, TurnOutcome, Usage
from ...models.turns.voices import cut_voices, without_frame
from .repairs import has_broken_call, repair_calls

EMPTY = "Your answer was empty. Answer, or write PASS."
EMPTY_REQUIRED = "Your answer was empty. Give the answer that <turn> asks for."
CONTINUE = "Go on exactly where you stopped."
NO_ANSWER = "Write the whole answer to the task after DONE:. If that was it, repeat it."
_FORM = "Your answer was text. Use the tool {tool}, with the fields {fields}."
#: Words per token of an answer, rounded down.
_WORDS_PER_TOKEN = 0.5
_MIN_WORDS = 20
MAX_INSTRUCTION = 8_000


class AskAgain(Exception):
    """The answer is sent back with a note.

    Attributes:
        messages: The messages so far, with the answer.
        note: What was wrong.
    """

    def __init__(self, messages: Sequence[ModelMessage], note: str) -> None:
        super().__init__(note)
        self.messages, self.note = list(messages), note


class CutOff(AskAgain):
    """The answer reached the token limit, and is continued."""


class ThoughtOnly(Exception):
    """The answer reached the token limit before any text; `tokens` is the limit, or what it used."""

    def __init__(self, tokens: int) -> None:
        super().__init__(f"the model used up its {tokens:,} tokens thinking")
        self.tokens = tokens


class Answered(Exception):
    """The text of a model that should have used a tool has a meaning; it is the answer of the turn."""

    def __init__(self, outcome: TurnOutcome) -> None:
        super().__init__()
        self.outcome = outcome


@dataclass(slots=True)
class AnswerReader:
    """Reader of the answers of one turn; it remembers what was asked again."""

    turn: TurnContext
    #: Whether an answer that was cut at the token limit is continued.
    continues: bool = True
    #: Whether an answer without a meaning is sent back.
    asks_again: bool = True
    #: Usage of the answers so far. Another is asked for only if the turn's budget allows as much again.
    spent: Usage = field(default_factory=Usage)
    notes: int = 0
    continued: int = 0
    #: Text before the cut of an answer that was continued.
    texts: list[str] = field(default_factory=list)
    #: Text, or arguments of the calls, of the newest answer.
    last_text: str = ""
    #: Review of a wrong form that was sent back. It counts if no other answer follows.
    first_review: str = ""

    def read(
        self, response: ModelResponse, messages: Sequence[ModelMessage], wanted: ModelRequestParameters
    ) -> ModelResponse:
        """Return an answer with repaired tool calls.

        Raises:
            AskAgain: The answer has no meaning; once in a turn.
            CutOff: The answer is to be continued.
            ThoughtOnly: It has nothing but thoughts, up to the token limit.
            Answered: Its text is the answer, without the tool that was asked for.
        """
        was_cut = response.finish_reason == "length"
        response = repair_calls(response, wanted, is_complete=not was_cut)
        if response.finish_reason == "content_filter":
            return response
        messages = [*messages, response]
        self.last_text = _shown_text(response)
        has_calls = any(isinstance(part, ToolCallPart) for part in response.parts)
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        if has_calls:
            if was_cut and has_broken_call(response):
                self._ask_again(messages, self._shorter(response))
            return response
        if was_cut:
            self._read_cut(response, messages, text)
        elif is_empty(own_text(text, self.turn)[0]):
            before, cut_lines = own_text("".join(self.texts), self.turn)
            if not is_empty(before):  # nothing was left to be said after the cut
                raise Answered(TurnOutcome.say(before).model_copy(update={"cut_voices": cut_lines}))
            self._ask_again(messages, EMPTY if self._may_pass() else EMPTY_REQUIRED)
            return response
        if wanted.output_tools:
            return self._read_text_for_tool(response, messages, wanted, text)
        if not was_cut:
            self._check_review(messages, text)
        if self.turn.expects is Expects.DECISION and self.turn.output_schema is None:
            self._check_decision(messages, text)
        return response

    def _read_cut(self, response: ModelResponse, messages: list[ModelMessage], text: str) -> None:
        """Continue an answer of text, and have any other one given again; a cut form is no answer."""
        if is_empty(text):
            raise ThoughtOnly(response.usage.output_tokens)
        if self.turn.expects is not Expects.MESSAGE or self.turn.output_schema is not None:
            self._ask_again(messages, self._shorter(response))
        elif (
            self.continues
            and not self.continued
            and REVIEW_PARAMETER not in self.turn.parameters
            and self._has_budget()
        ):
            self.continued += 1
            self.texts.append(text)
            raise CutOff(messages, CONTINUE)

    def _shorter(self, response: ModelResponse) -> str:
        words = max(_MIN_WORDS, int(response.usage.output_tokens * _WORDS_PER_TOKEN))
        return f"Your answer was cut off at the token limit. Give the whole answer again, with at most {words} words."

    def _ask_again(self, messages: Sequence[ModelMessage], note: str) -> None:
        if self.asks_again and not self.notes and self._has_budget():
            self.notes += 1
            raise AskAgain(messages, note)

    def _has_budget(self) -> bool:
        return has_budget_to_ask_again(self.turn, TurnOutcome(usage=self.spent))

    def _may_pass(self) -> bool:
        return self.turn.expects is Expects.MESSAGE and not self.turn.position.is_last

    def give_up(self, error: UnexpectedModelBehavior) -> TurnOutcome:
        """Return the outcome of an invalid decision; the planner continues without it.

        Raises:
            UnexpectedModelBehavior: The answer is no decision, is empty, or was refused.
        """
        text = self.last_text.strip()
        if (
            self.turn.expects is not Expects.DECISION
            or type(error) is not UnexpectedModelBehavior
            or not text
        ):
            raise error
        decision = Decision(instruction="" if text[:1] == "{" else text[:MAX_INSTRUCTION])
        return TurnOutcome.say(text).model_copy(update={"decision": decision, "asked_again": True})

    def _check_review(self, messages: Sequence[ModelMessage], text: str) -> None:
        """Have a reviewer's answer given again if its form is wrong."""
        if self.turn.expects is not Expects.MESSAGE or not has_guide(self.turn):
            return
        shown = (message.content for message in self.turn.opening)
        if fault := answer_fault(text, self.turn.me.role_id, shown):
            self.first_review = self.first_review or own_text(text, self.turn)[0]
            self._ask_again(messages, fault)

    def _check_decision(self, messages: Sequence[ModelMessage], text: str) -> None:
        outcome = self._read_text(text)
        if outcome.question or outcome.passed:
            return
        decision = outcome.decision or Decision()
        if decision.satisfied:
            if not decision.answer:
                self._ask_again(messages, NO_ANSWER)
            return
        _, fault = check_decision(decision, self.turn.roster, self.turn.me.participant_id)
        if fault:
            self._ask_again(messages, fault)

    def _read_text(self, text: str) -> TurnOutcome:
        """Return what the text directs; after a note, a short answer behind `DONE:` is the whole answer."""
        plain = without_frame(text, self.turn.me)
        outcome = read_directives(self.turn, TurnOutcome.say(plain)) if plain else TurnOutcome()
        decision = outcome.decision
        if self.notes and decision is not None and decision.satisfied and not decision.answer:
            decision = decision.model_copy(update={"answer": decision.reason})
            outcome = outcome.model_copy(update={"decision": decision})
        return outcome

    def finish_text(self, text: str, outcome: TurnOutcome) -> TurnOutcome:
        """Return the outcome of a text answer with what it directs, if it was asked again."""
        if self.turn.expects is not Expects.DECISION or not self.notes:
            return outcome
        read = self._read_text(text)
        return outcome.model_copy(update={"decision": read.decision}) if read.decision else outcome

    def _read_text_for_tool(
        self,
        response: ModelResponse,
        messages: Sequence[ModelMessage],
        wanted: ModelRequestParameters,
        text: str,
    ) -> ModelResponse:
        """Read text that was given instead of a tool call: as JSON of its form, or by the rules for text."""
        tool = wanted.output_tools[0]
        try:
            data = fit(read_one(text), tool.parameters_json_schema)
        except ValueError:
            data = None
        if isinstance(data, dict) and _has_required(data, tool.parameters_json_schema):
            call = ToolCallPart(tool.name, dump_json(data), tool_call_id=f"text-{tool.name}")
            kept = [part for part in response.parts if isinstance(part, ThinkingPart)]
            return replace(response, parts=[*kept, call])
        fields = ", ".join(tool.parameters_json_schema.get("properties", {}))
        note = _FORM.format(tool=tool.name, fields=fields)
        if self.turn.output_schema is not None or self.turn.expects is Expects.MESSAGE:
            self._ask_again(messages, note)
            return response
        outcome = self._read_text(text)
        if outcome.question or outcome.passed:
            raise Answered(outcome)
        if self.turn.expects is Expects.REVIEW:
            if outcome.decision is None:
                self._ask_again(messages, note)
            raise Answered(outcome)
        decision = outcome.decision or Decision()
        fault = "" if decision.satisfied else self._fault(decision)
        if fault or (decision.satisfied and not decision.answer):
            self._ask_again(messages, f"{fault or note}" if decision.fault or decision.next else note)
        raise Answered(outcome)

    def _fault(self, decision: Decision) -> str:
        return check_decision(decision, self.turn.roster, self.turn.me.participant_id, structured=True)[1]


def _shown_text(response: ModelResponse) -> str:
    texts = (
        part.content if isinstance(part, TextPart) else part.args_as_json_str()
        for part in response.parts
        if isinstance(part, TextPart | ToolCallPart)
    )
    return "\n".join(texts)


def _has_required(data: dict[str, JsonValue], schema: dict[str, object]) -> bool:
    required = schema.get("required", ())
    fields = schema.get("properties", {})
    assert isinstance(required, list | tuple)  # noqa: S101 - a JSON schema
    return all(name in data for name in required) and (
        not isinstance(fields, dict) or not fields or bool(data.keys() & fields.keys())
    )


def join_continuation(before: str, text: str) -> str:
    """Return a text that was cut and its continuation, which may begin with all of it again."""
    return text if text.startswith(before) else before + text


def own_text(text: str, turn: TurnContext) -> tuple[str, int]:
    """Return the text that is the speaker's own, and the number of lines in the name of others that are cut."""
    plain = without_frame(text, turn.me)
    return cut_voices(plain, turn.roster, turn.me) if turn.expects is Expects.MESSAGE else (plain, 0)
