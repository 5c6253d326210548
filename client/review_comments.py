"""Methods of a client for the comments of reviews on pull requests: decisions of people, and answers to them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..models.errors import InvalidInput
from .sessions import SessionMethods

# Reviews are imported when one is used: most programs use sessions only.
if TYPE_CHECKING:
    from ..reviews.delivery.hosts.replies import ReplyResult
    from ..reviews.values.decisions import Decision


class ReviewCommentMethods(SessionMethods):
    """The methods of a client for comments on pull requests."""

    def review_decisions(self, repository: str | None = None) -> list[Decision]:
        """Return what people have decided about findings in the comments of pull requests.

        Args:
            repository: Web address of the repository, or the name of a root without one. None: all.

        Returns:
            The decisions that count, newest first.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        store = self._parts.reviews.decisions
        decisions = store.all() if repository is None else store.of_repository(repository)
        return [decision for decision in decisions if not decision.is_forgotten]

    def forget_review_decision(self, decision_id: str) -> Decision:
        """Forget a decision: its finding is reported again, and its thread is opened by the next delivery.

        Args:
            decision_id: Its id, or the beginning of it.

        Returns:
            The decision.

        Raises:
            AmbiguousId: Several decisions have ids that start with this.
            InvalidInput: No decision has such an id.
            RedisUnavailable: Redis does not answer.
        """
        return self._parts.reviews.decisions.forget(decision_id)

    def reply_to_review_comment(
        self, event: Mapping[str, Any], *, deliver: str, model: str | None = None, timeout_s: float = 300
    ) -> ReplyResult:
        """Do what a new comment on a pull request asks for. A repeated call changes nothing twice.

        `/review` is left to the caller. `/ignore`, "won't fix" or "not a bug" in the thread of a finding is stored as
        a decision. Any other reply there is answered by the model.

        Args:
            event: JSON of the webhook event: `issue_comment` or `pull_request_review_comment` of GitHub, `note` of
                GitLab.
            deliver: Delivery to the code host, in the deliveries file of the settings.
            model: The agent that answers. None: none does.
            timeout_s: Maximum seconds to wait for its answer.

        Returns:
            What was done.

        Raises:
            DeliveryFailed: The host refuses, or does not answer.
            InvalidInput: The event or the delivery is not valid.
            RedisUnavailable: Redis does not answer.
            SessionFailed: The model failed.
            TimeoutError: The model did not answer in time.
        """
        from ..reviews.delivery.hosts.replies import ReplyAction, ReplyResult, parse_event
        from .building.app import load_deliveries

        if self.settings.deliveries_file is None:
            # A file in the working folder may be part of what is reviewed.
            raise InvalidInput("deliveries_file", None, "must be set: SYMPOSIA_DELIVERIES_FILE")
        comment = parse_event(event)
        if comment is None:
            return ReplyResult(ReplyAction.NOTHING, 0, "the event is no new comment on a pull request")
        ask = None if model is None else partial(self._ask_model, model, timeout_s)
        decisions = self._parts.reviews.decisions
        return load_deliveries(self.settings).reply(
            deliver, comment, decisions=decisions, ask=ask, ask_s=timeout_s
        )

    def _ask_model(self, model: str, timeout_s: float, text: str) -> str:
        """Return the answer of an agent to one message."""
        collab = {
            "title": "Reply to a review comment",
            "purpose": "Answer the person.",
            "mode": "round_robin",
        }
        job = self.submit(collab, agents={"reviewer": model}, stop={"max_rounds": 1}, messages=[text])
        return job.result(timeout_s).raise_for_failure().text
