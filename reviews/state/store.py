"""Batch reviews in Redis: progress, items and results. One cluster slot per batch.

As with sessions, the message of a Celery task is only a hint, and the state in Redis decides. A script
claims an item, and a script accepts its result once per attempt. A later check finds lost work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from redis import Redis

from ...models.errors import ReviewError, ReviewNotFound
from ...models.text.ids import new_id
from ...state.redis.formats import FORMATS, check_format
from ...state.redis.keys import review_key
from ...state.redis.readers import read_stored, server_ms
from ...state.redis.scripts import call_script, load_script
from ..values.runs import Item, ItemState
from .records import BatchHead, BatchView, ItemRecord, Needs, batch_view

#: Milliseconds until the next check of a running item.
ITEM_CHECK_MS = 10_000
#: The same where many items wait for batches of providers.
BATCH_API_CHECK_MS = 120_000
#: Seconds within which a batch must be submitted completely; after that its data expires.
OPENING_S = 3_600
_FIELDS = ("item", "state", "attempt", "tokens", "cost", "result", "outputs")
#: Fields of a Redis hash.
Fields = dict[str, str | int]
#: Number of items read at once.
_PAGE = 100


class ReviewStore:
    """Batches in one Redis; `retention_s`: seconds for which a batch is kept after its last change."""

    def __init__(self, client: Redis, *, retention_s: int) -> None:
        self._client = client
        #: Seconds for which a batch is kept.
        self.retention_s = retention_s
        self._ttl_ms = retention_s * 1000

    def now_ms(self) -> int:
        """Return the server's time in milliseconds since the epoch."""
        return server_ms(self._client)

    # -- submission ---------------------------------------------------------------------------

    def claim_start(self, batch_id: str) -> int:
        """Return the number of a new starter of a batch; earlier starters can write nothing more."""
        with self._client.pipeline(transaction=True) as together:
            together.incr(review_key(batch_id, "starter"))
            together.expire(review_key(batch_id, "starter"), OPENING_S)
            return int(together.execute()[0])

    def open(self, head: BatchHead, starter: int) -> bool:
        """Create a batch; no item starts before `start` is called. False: it was started before.

        Raises:
            ReviewError: A later starter has begun.
        """
        limits, now = head.panel.batch, self.now_ms()
        span_ms = 0 if limits.max_s is None else int(limits.max_s * 1000)
        fields: Fields = {
            "format": FORMATS["review"],
            "started_ms": now,
            "parallel": head.panel.side_by_side,
            "attempts": head.panel.attempts,
            "look_ms": BATCH_API_CHECK_MS if head.panel.batch_api else ITEM_CHECK_MS,
            "limit_tokens": limits.max_tokens or 0,
            "limit_cost": limits.max_cost_micros or 0,
            "span_ms": span_ms,
            "deadline_ms": now + span_ms if span_ms else 0,
        }
        args: Fields = {"head": _head_text(head), "opening_ms": OPENING_S * 1000}
        return self._upload("reviews/open", head.batch_id, starter, args, fields) == "opened"

    def add(
        self,
        batch_id: str,
        starter: int,
        number: int,
        item: Item,
        text: str,
        *,
        needs: Needs = Needs(),  # noqa: B008 - frozen
        outputs: str = "",
    ) -> None:
        """Add an item with the opening of its session; items are numbered from 1. A repeated call changes nothing.

        `outputs`: those of programs for it, as in `ItemRecord`.

        Raises:
            ReviewError: A later starter has begun.
        """
        fields: Fields = {
            "state": ItemState.WAITING.value,
            "attempt": 1,
            "needs_tokens": max(needs.tokens, 1),
            "needs_cost": max(needs.cost_micros, 1),
        }
        self._add(batch_id, starter, number, item, fields | ({"outputs": outputs} if outputs else {}), text)

    def add_known(self, batch_id: str, starter: int, number: int, item: Item, result: str) -> None:
        """Add an item with a known result, an `ItemResult` as JSON. Raises ReviewError: see `add`."""
        fields: Fields = {"state": ItemState.UNCHANGED.value, "result": result}
        self._add(batch_id, starter, number, item, fields)

    def _add(
        self, batch_id: str, starter: int, number: int, item: Item, fields: Fields, text: str = ""
    ) -> None:
        record = {"item": item.model_dump_json(exclude_defaults=True), **fields}
        args: Fields = {
            "number": number,
            "opening": text,
            "opening_ms": OPENING_S * 1000,
            "ttl_ms": self._ttl_ms,
        }
        numbered = {f"{number}:{name}": value for name, value in record.items()}
        self._upload("reviews/add", batch_id, starter, args, numbered)

    def start(
        self, head: BatchHead, starter: int, *, total: int = 0, unchanged: int = 0, failure: str = ""
    ) -> None:
        """Start the batch, after all items were added. `failure`: why it cannot start, for its report.

        Raises:
            ReviewError: A later starter has begun.
        """
        args: Fields = {"head": _head_text(head), "total": total, "unchanged": unchanged, "failure": failure}
        self._upload("reviews/start", head.batch_id, starter, {**args, "ttl_ms": self._ttl_ms})

    def _upload(
        self,
        verb: str,
        batch_id: str,
        starter: int,
        args: Fields,
        fields: Fields | None = None,
    ) -> str:
        """Run a script of one starter; return its answer."""
        text = f"text:{args.get('number')}"
        keys = [review_key(batch_id, text if part == "text" else part) for part in load_script(verb).keys]
        rest = [part for pair in (fields or {}).items() for part in pair]
        answer: str = call_script(self._client, verb, keys, {**args, "mine": starter}, rest)[0]
        if answer == "replaced":
            raise ReviewError(f"another worker has begun to start review {batch_id}")
        return answer

    # -- execution ----------------------------------------------------------------------------

    def claim(self, batch_id: str) -> tuple[str, list[int], list[int], str]:
        """Claim items; return the script's status, the claimed items, the items to check, and the exhausted limit."""
        word, *rest = self._run("reviews/claim", batch_id, look_ms=ITEM_CHECK_MS)
        match word:
            case "claimed":
                return word, _numbers(rest[0]), _numbers(rest[1]), ""
            case "stopping":
                return word, [], _numbers(rest[0]), ""
            case _:
                return word, [], [], rest[0] if rest else ""

    def record_result(
        self,
        record: ItemRecord,
        batch_id: str,
        outcome: ItemState,
        result: str,
        *,
        spent: tuple[int, int],
        error: str = "",
    ) -> tuple[str, int]:
        """Write the result of an attempt, with its usage in tokens and millionths of a US dollar.

        `error`: name of a provider's error; empty: there was none.

        Return `settled`, `again`, `stale` or `missing`, and the number of results in a row with this error.
        """
        args = {
            "number": record.number,
            "attempt": record.attempt,
            "outcome": outcome.value,
            "result": result,
            "error": error,
        }
        answer = self._run("reviews/record_result", batch_id, **args, tokens=spent[0], cost=spent[1])
        return answer[0], int(answer[1]) if len(answer) > 1 else 0

    def stop(self, batch_id: str, *, outcome: str, reason: str) -> list[int] | None:
        """Stop the batch, return its running items; None: it has ended. Raises ReviewNotFound."""
        word, *numbers = self._found(
            self._run("reviews/stop", batch_id, outcome=outcome, reason=reason), batch_id
        )
        return _numbers(numbers[0]) if word == "stopped" else None

    def retry(self, batch_id: str) -> int | None:
        """Queue the failed items again; return their number, None: the batch has not ended. Raises ReviewNotFound."""
        word, *count = self._found(self._run("reviews/retry", batch_id, request=new_id()), batch_id)
        return None if word == "open" else int(count[0]) if count else 0

    def end(self, batch_id: str, reporter: str, *, lease_ms: int, is_done: bool = False) -> str:
        """Request the right to report the batch; with `is_done`, record that it was reported.

        Return `yours`, `taken`, `open`, `ended` or `missing`.
        """
        args: dict[str, str | int] = {
            "reporter": reporter,
            "lease_ms": lease_ms,
            "is_done": "1" if is_done else "",
        }
        word: str = self._run("reviews/end", batch_id, **args)[0]
        return word

    # -- reading ------------------------------------------------------------------------------

    def view(self, batch_id: str) -> BatchView:
        """Return the progress of the batch. Raises ReviewNotFound."""
        return self._seen(batch_id)[0]

    def view_with_item(self, batch_id: str, number: int) -> tuple[BatchView, ItemRecord | None]:
        """Return the progress and one item, read at the same instant. Raises ReviewNotFound."""
        view, values = self._seen(batch_id, number)
        return view, None if values[0] is None else _record(batch_id, number, values)

    def _seen(self, batch_id: str, number: int = 0) -> tuple[BatchView, list[str | None]]:
        """Return the progress and, with `number`, the fields of one item."""
        with self._client.pipeline(transaction=True) as together:
            together.hgetall(review_key(batch_id, "batch"))
            together.zcard(review_key(batch_id, "waiting"))
            together.zcard(review_key(batch_id, "running"))
            if number:
                together.hmget(review_key(batch_id, "items"), [f"{number}:{field}" for field in _FIELDS])
            fields, waiting, running, *items = together.execute()
        if not fields:
            raise ReviewNotFound(batch_id)
        check_format("review", batch_id, fields.get("format"))
        return batch_view(batch_id, fields, waiting=waiting, running=running), items[0] if items else []

    def outcome(self, batch_id: str) -> str:
        """Return the outcome; empty before the report of the batch begins."""
        return self._client.hget(review_key(batch_id, "batch"), "outcome") or ""  # type: ignore[return-value]

    def head(self, batch_id: str) -> BatchHead:
        """Return the definition of the batch. Raises ReviewNotFound."""
        with self._client.pipeline(transaction=True) as together:
            together.hget(review_key(batch_id, "items"), "head")
            together.hget(review_key(batch_id, "batch"), "format")
            text, version = together.execute()
        check_format("review", batch_id, version)
        if text is None:
            raise ReviewNotFound(batch_id)
        return read_stored(BatchHead, text, session_id=batch_id, part="items")

    def item(self, batch_id: str, number: int) -> ItemRecord | None:
        """Return one item; None: it does not exist."""
        return next(self._read_items(batch_id, [number]), None)

    def items(self, batch_id: str, total: int) -> Iterator[ItemRecord]:
        """Yield all items, by number."""
        for first in range(1, total + 1, _PAGE):
            yield from self._read_items(batch_id, range(first, min(first + _PAGE, total + 1)))

    def _read_items(self, batch_id: str, numbers: Sequence[int]) -> Iterator[ItemRecord]:
        names = [f"{number}:{field}" for number in numbers for field in _FIELDS]
        values = cast("list[str | None]", self._client.hmget(review_key(batch_id, "items"), names))
        for at, number in enumerate(numbers):
            row = values[at * len(_FIELDS) : (at + 1) * len(_FIELDS)]
            if row[0] is not None:
                yield _record(batch_id, number, row)

    def text(self, batch_id: str, number: int) -> str | None:
        """Return the text of an item whose session has not been opened."""
        return cast("str | None", self._client.get(review_key(batch_id, f"text:{number}")))

    def drop_text(self, batch_id: str, number: int) -> None:
        """Delete the text of an item whose session was opened with it."""
        self._client.delete(review_key(batch_id, f"text:{number}"))

    def _run(self, verb: str, batch_id: str, **args: str | int) -> list[Any]:
        version = cast("str | None", self._client.hget(review_key(batch_id, "batch"), "format"))
        check_format("review", batch_id, version)
        keys = [review_key(batch_id, part) for part in load_script(verb).keys]
        return call_script(self._client, verb, keys, {**args, "ttl_ms": self._ttl_ms})

    @staticmethod
    def _found(answer: list[Any], batch_id: str) -> list[Any]:
        if answer[0] == "missing":
            raise ReviewNotFound(batch_id)
        return answer


def _head_text(head: BatchHead) -> str:
    # Workers of an earlier release refuse a field that they do not know, even if it has its default.
    return head.model_dump_json(exclude_defaults=True)


def _numbers(listed: Sequence[str]) -> list[int]:
    return [int(number) for number in listed]


def _record(batch_id: str, number: int, values: Sequence[str | None]) -> ItemRecord:
    item, state, attempt, tokens, cost, result, outputs = values
    return ItemRecord(
        number=number,
        item=read_stored(Item, item or "", session_id=batch_id, part="items"),
        state=ItemState(state or ItemState.WAITING),
        attempt=int(attempt or 0),
        tokens=int(tokens or 0) or None,
        cost_micros=int(cost or 0) or None,
        result=result,
        outputs=outputs or "",
    )
