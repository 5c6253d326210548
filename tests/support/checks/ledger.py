"""What is true of every session at every moment, read from its raw keys alone."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from redis import Redis

from protocol import mplp
from symposia.models.text.ids import is_uuid4
from symposia.state.redis.keys import PREFIX, session_key

WRITTEN = {"message", "passed", "skipped", "failed"}
NEVER_WRITTEN = {"expired", "failed", "dropped", "cancelled", "asked", "reassigned"}
UNDER_WAY = {"speaking", "parked", "held"}
FINAL = {"completed", "cancelled"}
COUNTED = ("input_tokens", "output_tokens", "cached_tokens", "requests", "cost_micros")
PAYLOADS = {
    "MAPTurnDispatched": "$defs/turn_dispatched_payload",
    "MAPTurnCompleted": "$defs/turn_completed_payload",
    "MAPBroadcastSent": "$defs/broadcast_sent_payload",
    "MAPBroadcastReceived": "$defs/broadcast_received_payload",
}


def session_ids(client: Redis) -> list[str]:
    """Every session on the server."""
    prefix, suffix = f"{PREFIX}:{{", "}:session"
    return [key.removeprefix(prefix).removesuffix(suffix) for key in client.scan_iter(f"{prefix}*{suffix}")]


def check(client: Redis, session_id: str) -> None:
    """Asserts all that this module knows to be true."""
    ledger = check_truths(client, session_id)
    if mplp.SCHEMAS.is_dir():
        ledger.check_schemas()


def check_truths(client: Redis, session_id: str) -> Ledger:
    """All but the schemas, which take their time."""
    ledger = Ledger(client, session_id)
    ledger.check_grants()
    ledger.check_dialog()
    ledger.check_counters()
    ledger.check_locks()
    ledger.check_end()
    return ledger


class Ledger:
    """One session's keys, read once."""

    def __init__(self, client: Redis, session_id: str) -> None:
        self.client = client
        self.id = session_id
        counters = dict.fromkeys(("closed", "messages", "fence", *COUNTED), "0")  # an absent one is 0
        self.session: dict[str, str] = counters | client.hgetall(session_key(session_id, "session"))
        self.events = self._stream("events")
        self.journal = self._stream("journal")
        self.messages = self._stream("dialog")
        raw = client.hgetall(session_key(session_id, "turns"))
        self.turns = {int(name): json.loads(text) for name, text in raw.items() if ":" not in name}

    def _stream(self, part: str) -> list[dict[str, Any]]:
        entries = self.client.xrange(session_key(self.id, part))
        return [json.loads(next(iter(fields.values()))) for _, fields in entries]

    def payloads(self, kind: str) -> list[dict[str, Any]]:
        return [event["payload"] for event in self.events if event["event_type"] == kind]

    @property
    def closings(self) -> list[dict[str, Any]]:
        """Payloads of the completions that wrote a turn, in order."""
        return [p for p in self.payloads("MAPTurnCompleted") if is_written(p["result"])]

    @property
    def is_final(self) -> bool:
        return self.session["status"] in FINAL

    def check_grants(self) -> None:
        dispatched = self.payloads("MAPTurnDispatched")
        fences = [payload["fence"] for payload in dispatched]
        assert fences == list(range(1, len(fences) + 1)), "fencing numbers rise by one with every dispatch"
        assert int(self.session["fence"]) == len(fences)
        tokens = Counter(payload["token_id"] for payload in dispatched)
        assert all(times == 1 for times in tokens.values()), "a token is given out once"
        completed = Counter(payload["token_id"] for payload in self.payloads("MAPTurnCompleted"))
        assert completed <= tokens, "a token is closed once at most, and only after it was given out"
        if self.is_final:
            assert completed == tokens, "every token of an ended session is closed"
        else:
            open_tokens = {t["token"] for t in self.turns.values() if t["status"] in UNDER_WAY}
            assert set(tokens - completed) == open_tokens, (
                "the tokens not closed are those of turns under way"
            )

    def check_dialog(self) -> None:
        numbers = [payload["turn_number"] for payload in self.closings]
        assert len(numbers) == len(set(numbers)), "a turn is written once"
        told = [m["event"]["data"] for m in self.messages if "event" in m]
        # Messages from outside carry nothing of a turn: their history in another dialog, and their files.
        told = [data for data in told if not data.keys() <= {"history", "attachments"}]
        expected = [
            (p["turn_number"], p["token_id"]) for p in self.closings for _ in range(p["result"]["messages"])
        ]
        assert [(data["turn_number"], data["token_id"]) for data in told] == expected, (
            "the dialog holds what the turns wrote, in the order in which they closed"
        )

    def check_counters(self) -> None:
        count = {name: int(self.session[name]) for name in ("closed", "messages", "next", *COUNTED)}
        before = json.loads(self.session.get("start", "{}")).get("fields", {}).get("closed", 0)
        assert count["closed"] == int(before) + len(self.closings), (
            "a fork begins with turns of another session"
        )
        assert count["messages"] == len(self.messages)
        assert all(0 < number < count["next"] for number in self.turns)
        late = [event["data"]["usage"] for event in self.journal if event["event_type"] == "turn.spent"]
        reported = [p["result"].get("usage", {}) for p in self.payloads("MAPTurnCompleted")]
        # Usage of the attempts of turns that are still stored; the next event of the turn reports the rest.
        spent = [
            dict(zip(COUNTED, row, strict=True))
            for t in self.turns.values()
            for row in t.get("spent", {}).values()
        ]
        sums = [t[name] for t in self.turns.values() for name in ("reported", "told") if name in t]
        known = [dict(zip(COUNTED, row, strict=True)) for row in sums]
        for name in COUNTED:
            open_sum = sum(it[name] for it in spent) - sum(it[name] for it in known)
            assert count[name] == sum(usage.get(name, 0) for usage in (*reported, *late)) + open_sum, (
                "what is booked is reported"
            )
            assert open_sum == 0 or not self.is_final
        assert int(self.session.get("map_events", 0)) == len(self.events)
        assert int(self.session["notes"]) == len(self.journal)
        event_ids = [event["event_id"] for event in (*self.events, *self.journal)]
        assert len(event_ids) == len(set(event_ids))

    def check_locks(self) -> None:
        speaking = {t["token"]: t["scope"] for t in self.turns.values() if t["status"] == "speaking"}
        prefix = session_key(self.id, "lock:")
        for key in self.client.scan_iter(prefix.replace("[", "\\[") + "*"):
            holder, scope = self.client.get(key), key.removeprefix(prefix)
            if holder is None:
                continue  # its time was up just now
            if not self.is_final:
                token = str(holder).partition("|")[0]
                assert speaking.get(token) == scope, "a lock is held by a turn that is under way in its scope"
            assert self.client.pttl(key) != -1, "a lock is a lease"

    def check_end(self) -> None:
        kinds = [event["event_type"] for event in self.events]
        has_started = any(event["event_type"] == "session.active" for event in self.journal)
        assert kinds[:2] == ["MAPSessionStarted", "MAPRolesAssigned"] if has_started else len(kinds) < 2
        assert has_started != ("draft_deadline_ms" in self.session), (
            "a draft, and nothing else, can be activated"
        )
        assert kinds.count("MAPSessionCompleted") == self.is_final
        if self.is_final:
            assert kinds[-1] == "MAPSessionCompleted"
            assert self.session["dialog_status"] == self.session["status"]
            assert not [t for t in self.turns.values() if t["status"] in {"planned", *UNDER_WAY}]

    def check_schemas(self) -> None:
        for event in self.events:
            mplp.validate("map-event", event)
            assert is_uuid4(event["event_id"])
            if definition := PAYLOADS.get(event["event_type"]):
                mplp.validate("map-event", event["payload"], pointer=definition)
        for event in self.journal:
            mplp.validate("event", event)
        for message in self.messages:
            mplp.validate("dialog", message, pointer="$defs/dialog_message_core")


def is_written(result: dict[str, Any]) -> bool:
    """The completion of a turn that was written, not of a grant that was lost or given back."""
    return result["outcome"] in WRITTEN and not result.get("retried")
