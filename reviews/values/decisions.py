"""Decisions of people about findings, learned from their answers to comments. Pure.

A finding about which a decision was taken is suppressed in later runs of the same repository, as long as its line, a
line beside it and its kind are the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field

from ...models.protocol.base import NonBlank, Text
from ...models.text.ids import Timestamp
from ...models.text.paths import MAX_PATH
from ...models.turns.frozen import Frozen
from .findings import MAX_RULE, Category, Finding, FindingStatus, Side, Suppression
from .identity import FindingIdentity
from .runs import ReviewRun

MAX_REASON = 300
_MAX_MESSAGE = 300
_MAX_NAME = 200
#: What a line of an answer begins with, after words such as "this is"; a line that ends with `?` decides nothing.
_ANSWER = re.compile(
    r"(?:/(?P<ignored>ignore)\b"
    r"|(?:(?:this|that|it|we|i|they)(?:'s| is| are)?\s+|(?:is|are)\s+)?(?:\W*)"
    r"(?:(?P<wont_fix>won'?t[ -]?fix|will not fix|as intended|works as intended|by design)"
    r"|(?P<not_a_bug>not a (?:bug|defect|problem)|false positive))\b)",
    re.IGNORECASE,
)


class Verdict(StrEnum):
    """What a person decided about a finding."""

    WONT_FIX = "won't fix"
    NOT_A_BUG = "not a bug"
    IGNORED = "ignored"
    #: The thread was resolved although the finding is still reported.
    RESOLVED = "resolved"


def parse_answer(text: str) -> tuple[Verdict, str] | None:
    """Return what an answer to a comment decides, and its line; None: it decides nothing. Quoted lines are skipped."""
    for line in (line.strip() for line in text.replace("\u2019", "'").splitlines()):
        if line.startswith(">") or line.endswith("?"):
            continue
        if match := _ANSWER.match(line):
            verdict = Verdict[(match.lastgroup or "").upper()]
            return verdict, line[:MAX_REASON]
    return None


class Decision(Frozen):
    """A decision of a person, with the place and kind of the finding."""

    #: Web address of the repository, or the identity of a root without one.
    repository: NonBlank
    verdict: Verdict
    #: Login name of the person.
    by: Annotated[Text, Field(max_length=_MAX_NAME)]
    at: Timestamp
    #: Number of the pull request of the comment.
    pull_request: Annotated[int, Field(ge=0)] = 0
    reason: Annotated[Text, Field(max_length=MAX_REASON)] = ""
    #: Path relative to the repository, and line at the time of the decision.
    path: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    line: int | None = None
    side: Side = Side.RIGHT
    fingerprint: Text
    anchor: Text = ""
    before: Text = ""
    after: Text = ""
    rule: Annotated[Text, Field(max_length=MAX_RULE)] = ""
    category: Category | None = None
    message: Annotated[Text, Field(max_length=_MAX_MESSAGE)] = ""
    #: True: it was forgotten by a command, and counts no longer; earlier answers are not learned again.
    is_forgotten: bool = False

    @classmethod
    def of(cls, identity: FindingIdentity, message: str, **fields: object) -> Self:
        """Return the decision about a finding; `fields`: repository, verdict, by, at, pull_request, reason."""
        place = {name: getattr(identity, name) for name in _PLACE_FIELDS}
        values = {**place, "category": identity.category or None, "message": message[:_MAX_MESSAGE], **fields}
        return cls.model_validate(values)

    @property
    def id(self) -> str:
        """12 hexadecimal digits: a second decision about the same finding replaces the first."""
        where = (self.repository, self.path, self.side, self.anchor, self.before, self.after)
        kind = self.category or self.rule
        identity = (*where, kind, "" if self.anchor else self.fingerprint)
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]

    @property
    def identity(self) -> FindingIdentity:
        """Place and kind of the finding."""
        place = {name: getattr(self, name) for name in _PLACE_FIELDS}
        return FindingIdentity(**place, category=self.category.value if self.category else "")

    @property
    def text(self) -> str:
        """What was decided, by whom and where: `not a bug (ann, pull request 5)`."""
        where = f", pull request {self.pull_request}" if self.pull_request else ""
        return f"{self.verdict.value} ({self.by}{where})"

    def is_about(self, identity: FindingIdentity) -> bool:
        """Return whether it is about a finding, whose path is relative to the repository."""
        mine = self.identity
        if (mine.path, mine.side) != (identity.path, identity.side):
            return False
        if not mine.anchor:
            return mine.fingerprint == identity.fingerprint
        has_context = any((mine.before, mine.after, identity.before, identity.after))
        is_same_place = mine.is_on_same_text(identity) and (
            mine.is_beside_same_text(identity) or not has_context
        )
        return is_same_place and (mine.fingerprint == identity.fingerprint or mine.is_same_kind(identity))


_PLACE_FIELDS = ("path", "line", "side", "fingerprint", "anchor", "before", "after", "rule")


def repository_of(run: ReviewRun) -> str:
    """Return the repository of the decisions that concern a run."""
    return run.repository_url or run.root or run.root_name


def repository_identity(run: ReviewRun, finding: Finding) -> FindingIdentity:
    """Return the identity of a finding at its path in the repository."""
    return FindingIdentity.of(finding.model_copy(update={"path": run.repository_path(finding.path)}))


def find_decision(identity: FindingIdentity, decisions: Iterable[Decision]) -> Decision | None:
    """Return the decision about a finding that counts; None: there is none."""
    return next(
        (decision for decision in decisions if not decision.is_forgotten and decision.is_about(identity)),
        None,
    )


def with_decisions(run: ReviewRun, decisions: Sequence[Decision]) -> ReviewRun:
    """Return the run with the open findings suppressed about which people have decided."""
    if not decisions:
        return run

    def suppress(finding: Finding) -> Finding:
        if not finding.is_open:
            return finding
        decision = find_decision(repository_identity(run, finding), decisions)
        if decision is None:
            return finding
        changes = {"status": FindingStatus.SUPPRESSED, "suppression": Suppression(reason=decision.text)}
        return finding.model_copy(update=changes)

    return run.model_copy(update={"findings": tuple(map(suppress, run.findings))})
