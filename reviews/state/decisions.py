"""Decisions of people about findings, in Redis: one hash of all repositories, which has no TTL.

Beside it a key for each comment that a process answers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import cast

from pydantic import ValidationError
from redis import Redis

from ...models.errors import AmbiguousId, InvalidInput, invalid_input
from ...models.text.ids import utcnow
from ...state.redis.keys import DECISIONS, reply_key
from ..values.decisions import Decision

log = logging.getLogger(__name__)

#: Maximum number of decisions; the oldest ones are dropped first.
MAX_DECISIONS = 10_000


class DecisionStore:
    """Decisions of all repositories. The client must decode responses. All methods raise RedisUnavailable."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def of_repository(self, repository: str) -> list[Decision]:
        """Return the decisions about a repository, the forgotten ones too, newest first."""
        return [decision for decision in self.all() if decision.repository == repository]

    def all(self) -> list[Decision]:
        """Return all decisions, newest first."""
        values = cast("list[str]", self._client.hvals(DECISIONS))
        decisions = [decision for decision in map(_read, values) if decision is not None]
        return sorted(decisions, key=lambda decision: (decision.at, decision.id), reverse=True)

    def add_decisions(self, decisions: Iterable[Decision]) -> None:
        """Store decisions; one about the same finding is replaced."""
        given = list(decisions)
        if not given:
            return
        self._client.hset(
            DECISIONS,
            mapping={decision.id: decision.model_dump_json(exclude_defaults=True) for decision in given},
        )
        if self._client.hlen(DECISIONS) > MAX_DECISIONS:
            oldest = self.all()[MAX_DECISIONS:]
            self._client.hdel(DECISIONS, *(decision.id for decision in oldest))

    def forget(self, prefix: str) -> Decision:
        """Mark the decision whose id begins with `prefix` as forgotten, and return it.

        Raises:
            InvalidInput: There is none.
            AmbiguousId: There are several.
        """
        fitting = [
            decision
            for decision in self.all()
            if decision.id.startswith(prefix) and not decision.is_forgotten
        ]
        if not fitting:
            raise InvalidInput("decision", prefix, "must be the id of a decision: symposia review decisions")
        if len(fitting) > 1:
            raise AmbiguousId(prefix, [decision.id for decision in fitting], kind="decisions")
        forgotten = fitting[0].model_copy(update={"is_forgotten": True, "at": utcnow()})
        self.add_decisions([forgotten])
        return forgotten

    def claim_reply(self, repository: str, comment_id: str, token: str, *, ttl_s: int) -> bool:
        """Reserve the answer to a comment for one call, named by a token; False: another call answers it.

        `ttl_s`: seconds after which another call may answer, because this one was killed.
        """
        key = reply_key(repository, comment_id)
        # The client repeats the command if its answer is lost: then the key has this token.
        return bool(self._client.set(key, token, nx=True, ex=ttl_s)) or self._client.get(key) == token

    def release_reply(self, repository: str, comment_id: str, token: str) -> None:
        """Let another call answer a comment, after a failure of this one."""
        key = reply_key(repository, comment_id)
        if self._client.get(key) == token:
            self._client.delete(key)


def _read(text: str) -> Decision | None:
    """Return a stored decision; None: a newer release wrote it in another form."""
    try:
        return Decision.model_validate_json(text)
    except ValidationError as error:
        log.warning("ignoring a decision in an unknown form: %s", invalid_input(error, "decision"))
        return None
