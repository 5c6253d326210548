"""Form of a reviewer's answer as a JSON schema that the provider enforces.

The answer stays text, which is read as without a schema. The schema is requested only if the model's table in the
agents file says so, because endpoints that do not know schemas refuse the request; then it is sent again without one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelRequestRejectedError,
    UserError,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition

from ...models.directives.review_answers import VERIFIER
from ...models.prompts.layout import has_guide
from ...models.severity import Severity
from ...models.turns.turn import Expects, TurnContext

#: Refusals of a request that have other reasons than its schema.
_OTHER_REASONS = (ModelAuthenticationError, ModelContextWindowExceededError, ModelNotFoundError)


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Finding(_Closed):
    file: str
    side: Literal["old", "new"]
    line: int
    end_line: int
    quote: str
    kind: str
    severity: Severity
    confidence: float
    title: str
    why: str
    assumes: str
    fix: str
    replacement: str | None
    also: list[str]


class _Findings(_Closed):
    findings: list[_Finding]
    summary: str


class _Verdict(_Closed):
    file: str
    line: int
    kind: str
    verdict: Literal["confirmed", "lower", "refuted", "cannot-tell"]
    severity: Severity | None
    evidence: str
    reason: str


class _Verdicts(_Closed):
    verdicts: list[_Verdict]


def review_form(turn: TurnContext) -> OutputObjectDefinition | None:
    """Return the form of the answer to a turn; None: it is no answer of a reviewer."""
    if turn.expects is not Expects.MESSAGE or turn.output_schema is not None or not has_guide(turn):
        return None
    return _definition(_Verdicts if turn.me.role_id == VERIFIER else _Findings)


@cache
def _definition(form: type[BaseModel]) -> OutputObjectDefinition:
    return OutputObjectDefinition(form.model_json_schema(), name=form.__name__.strip("_").lower())


def with_form(wanted: ModelRequestParameters, form: OutputObjectDefinition) -> ModelRequestParameters:
    """Return the parameters of a request whose answer has a form."""
    return replace(wanted, output_mode="native", output_object=form)


def refuses_form(error: Exception) -> bool:
    """Return whether a provider, or its client, may have refused a request because of its form."""
    return isinstance(error, ModelRequestRejectedError | UserError) and not isinstance(error, _OTHER_REASONS)
