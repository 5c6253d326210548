"""The independent checker: compares the data of a session with its script and reports every difference.

It imports nothing of the product. What it knows: a script (who speaks, in which order, why it
ends), the raw keys, and the agents' own notes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chaos.audit.evidence import Call, Closing, Evidence, Grant
from chaos.script import Finding, Script

NONCE = re.compile(r"\[([0-9a-f]{32})\]")
COUNTED = ("input_tokens", "output_tokens", "requests", "cost_micros")
#: Modes in which one scope, the floor, is all there is; elsewhere each participant has one.
ONE_FLOOR = {"round_robin", "pair"}


def audit(
    evidence: Evidence,
    script: Script,
    calls: Mapping[str, Call],
    *,
    lease_ms: int,
    cancelled: bool = False,
    tampered: bool = False,
    below: Collection[str] = (),
) -> list[Finding]:
    """All that is wrong with an ended session.

    `cancelled`: somebody may have cancelled it; `tampered`: its lock or its fencing number was changed by hand;
    `below`: ids of the sessions below it, whose calls are among `calls`.
    """
    audit = _Audit(evidence, script, calls, lease_ms, tampered, below)
    is_cut = cancelled and evidence.session.get("status") == "cancelled"
    rules = [
        audit.grants(),
        audit.turns(is_cut=is_cut),
        audit.dialog(),
        audit.sums(),
        audit.end(is_cut=is_cut),
    ]
    return [Finding(script.session, kind, says) for rule in rules for kind, says in rule]


Said = Iterator[tuple[str, str]]


def _is_running(pid: int) -> bool:
    """Return whether a process of this machine has not ended; a zombie has."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


@dataclass(frozen=True, slots=True)
class _Audit:
    """One session under examination; every rule yields (kind, what it found)."""

    evidence: Evidence
    script: Script
    calls: Mapping[str, Call]
    lease_ms: int
    tampered: bool
    _below: Collection[str] = ()

    def grants(self) -> Said:
        """One holder of a scope at a time, fencing numbers rise, every dispatch is completed once."""
        dispatched = {grant.token: grant for grant in self.evidence.grants}
        if len(dispatched) != len(self.evidence.grants):
            yield "fence", "a token was given out twice"
        fences = [grant.fence for grant in self.evidence.grants]
        if not self.tampered and fences != sorted(set(fences)):
            yield "fence", f"fencing numbers do not rise: {fences}"
        completed = Counter(closing.token for closing in self.evidence.closings)
        for token, grant in dispatched.items():
            if completed[token] != 1:
                yield "record", f"the dispatch of turn {grant.number} was completed {completed[token]} times"
        for token in completed.keys() - dispatched.keys():
            yield "record", f"token {token} was completed and never dispatched"
        yield from self._overlaps()
        if not self.tampered:
            yield from self._refused_too_early()
            yield from self._taken_from_the_living()

    def _overlaps(self) -> Said:
        holders: dict[str, Grant] = {}
        for step in self.evidence.steps:
            if isinstance(step, Grant):
                scope = "floor" if self.script.mode in ONE_FLOOR else step.participant
                if holder := holders.get(scope):
                    yield "fence", f"turn {step.number} took {scope} while turn {holder.number} held it"
                holders[scope] = step
                continue
            for scope, holder in list(holders.items()):
                if holder.token == step.token:
                    del holders[scope]
                    yield from self._taken_over_too_early(holder, step)

    def _refused_too_early(self) -> Said:
        """A commit within its lease is not refused unless its turn was taken over."""
        began = {grant.token: grant for grant in self.evidence.grants}
        for refusal in self.evidence.refusals:
            grant = began.get(refusal.token)
            if grant is not None and refusal.at_ms - grant.at_ms < self.lease_ms:
                held_ms = refusal.at_ms - grant.at_ms
                yield "fence", f"turn {grant.number} was refused {held_ms} ms after it began"

    def _taken_from_the_living(self) -> Said:
        """A worker that counts as lost has ended."""
        for token, pid in self.evidence.lost_holders.items():
            if _is_running(pid):
                yield "fence", f"token {token} was taken from process {pid}, which runs"

    def _taken_over_too_early(self, grant: Grant, closing: Closing) -> Said:
        held_ms, lost = closing.at_ms - grant.at_ms, self.evidence.lost_holders
        if closing.outcome == "expired" and held_ms < self.lease_ms and grant.token not in lost:
            yield (
                "fence",
                f"turn {grant.number} was taken over after {held_ms} ms of a {self.lease_ms} ms lease",
            )

    def turns(self, *, is_cut: bool) -> Said:
        """Every planned turn is written once, without gap or repeat, by those the script names."""
        written = Counter(closing.number for closing in self.evidence.written)
        for number, times in written.items():
            if times > 1:
                yield "doubled", f"turn {number} was written {times} times"
        planned = set(range(1, int(self.evidence.session["next"])))
        missing = planned - written.keys()
        if missing and not (self.script.quorum or is_cut):
            yield "lost", f"turns {sorted(missing)} were planned and never written"
        if written.keys() - planned:
            yield "order", f"turns {sorted(written.keys() - planned)} were written and never planned"
        if self.script.groups:
            yield from self._order(planned, is_cut=is_cut)
        if self.script.items and not is_cut:
            yield from self._items()

    def _order(self, planned: set[int], *, is_cut: bool) -> Said:
        """Turn numbers belong to groups in the order of the script; each group closes before the next begins."""
        speakers = {grant.number: grant.participant for grant in self.evidence.grants}
        is_whole = not is_cut and not self.script.quorum
        for numbers, group in self._groups():
            spoke = sorted(speakers[number] for number in numbers if number in speakers)
            if (spoke != sorted(group)) if is_whole else (Counter(spoke) - Counter(group)):
                yield "order", f"turns {list(numbers)} were spoken by {spoke}, not by {list(group)}"
        reached = 0
        for step in self.evidence.steps:
            group_of = self._group_of(step.number)
            if group_of < reached:
                yield "order", f"turn {step.number} went on when later ones had begun"
            reached = max(reached, group_of)
        meant, last = sum(map(len, self.script.groups)), max(planned, default=0)
        if last > meant or (last < meant and not is_cut):
            yield "order", f"{last} turns were planned where {meant} were to be"

    def _groups(self) -> Iterator[tuple[range, tuple[str, ...]]]:
        first = 1
        for group in self.script.groups:
            yield range(first, first + len(group)), group
            first += len(group)

    def _group_of(self, number: int) -> int:
        """Index of the group that a turn belongs to; a turn too many is in none, after all."""
        found = (index for index, (numbers, _) in enumerate(self._groups()) if number in numbers)
        return next(found, len(self.script.groups))

    def _items(self) -> Said:
        calls = [self.calls[nonce] for nonce in self._nonces() if nonce in self.calls]
        closers = [call.participant for call in calls if not call.item]
        if closers != [name for name in (self.script.reducer,) if name]:
            yield "lost", f"the board was closed by {closers}, not by {self.script.reducer}"
        done = Counter(call.item for call in calls if call.item)
        if done != Counter(self.script.items):
            kind = "doubled" if done - Counter(self.script.items) else "lost"
            yield kind, f"items worked on: {dict(done)}"
        shown = Counter(entry["status"] for entry in self.evidence.board.values())
        if shown != {"done": len(self.script.items)}:
            yield "record", f"the board shows {dict(shown)}"

    def dialog(self) -> Said:
        """The dialog holds exactly what the written turns said: spoken by whom, under which token, seeing what."""
        written = {closing.token: closing for closing in self.evidence.written}
        granted = {grant.token: grant for grant in self.evidence.grants}
        told = [entry.says["event"]["data"] for entry in self.evidence.spoken]
        expected = [closing.token for closing in self.evidence.written for _ in range(closing.messages)]
        if [data["token_id"] for data in told] != expected:
            yield "lost" if len(told) < len(expected) else "doubled", "the dialog is not what the turns wrote"
        for data in told:
            grant, closing = granted.get(data["token_id"]), written.get(data["token_id"])
            if grant is None or closing is None:
                yield "fence", f"turn {data['turn_number']} was written under a token that was not its own"
            elif (data["turn_number"], data["fence"]) != (grant.number, grant.fence):
                yield "fence", f"turn {grant.number} was written with another number or fence"
        for nonce, times in Counter(self._nonces()).items():
            if times > 1:
                yield "doubled", f"{nonce} was written {times} times"
            yield from self._spoken(nonce)

    def _nonces(self) -> list[str]:
        texts = (entry.says["content"] for entry in self.evidence.spoken)
        return [found.group(1) for text in texts if (found := NONCE.search(text))]

    def _spoken(self, nonce: str) -> Said:
        """Every message of the dialog was written by its speaker, who knew all earlier messages."""
        call = self.calls.get(nonce)
        if call is None:
            yield "record", f"nobody noted to have said {nonce}"
            return
        says = next(e.says for e in self.evidence.spoken if nonce in e.says["content"])
        data = says["event"]["data"]
        if child := self.script.teams.get(data["participant_id"]):
            if call.session not in (child, *self._below):
                yield "record", f"{nonce} was said in {call.session}, and not in the team of turn {call.turn}"
            return
        if (data["turn_number"], data["participant_id"]) != (call.turn, call.participant):
            yield (
                "record",
                f"{nonce} was said in turn {call.turn} by {call.participant}, and written as {data}",
            )
        before = {
            number for number in self._spoken_numbers() if self._group_of(number) < self._group_of(call.turn)
        }
        if self.script.groups and call.seen != before:
            yield "order", f"turn {call.turn} was spoken after seeing {sorted(call.seen)}"

    def _spoken_numbers(self) -> set[int]:
        """Turns that said something."""
        return {e.says["event"]["data"]["turn_number"] for e in self.evidence.spoken}

    def sums(self) -> Said:
        """Counters and budget are the sums of the streams and of the agents' records."""
        session, written = self.evidence.session, self.evidence.written
        for name, truth in (("closed", len(written)), ("messages", len(self.evidence.dialog))):
            if int(session[name]) != truth:
                yield "budget", f"{name} says {session[name]}, and there are {truth}"
        nonces = [nonce for nonce in self._nonces() if nonce in self.calls]
        for name in COUNTED:
            bills = [closing.usage for closing in self.evidence.closings] + self.evidence.late_bills
            billed = sum(bill.get(name, 0) for bill in bills)
            # What was spent on words that were refused is booked, too, where whoever spoke them lived to tell.
            least = sum(self.calls[nonce].usage[name] for nonce in nonces) if self.script.noted else billed
            own = [call for call in self.calls.values() if call.session in (self.evidence.id, *self._below)]
            most = sum(call.usage[name] for call in own) if self.script.noted else billed
            if int(session[name]) != billed or not least <= billed <= most:
                yield "budget", f"{name}: counted {session[name]}, billed {billed}, spent {least} to {most}"

    def _output(self) -> str:
        """The output is that of the last turn, and stands beside the text it was given with."""
        turn = json.loads(self.evidence.session.get("stop") or "{}").get("output", {}).get("turn")
        message = self.evidence.dialog[-1].says if self.evidence.dialog else {}
        data = message.get("event", {}).get("data", {})
        given = {"nonce": message.get("content")}
        if data.get("output") == given and data.get("turn_number") == turn:
            return ""
        return f"the output of turn {turn} is {data.get('output')}"

    def end(self, *, is_cut: bool) -> Said:
        """It ended for the right reason, that is the last word, and its keys will go."""
        session, events = self.evidence.session, self.evidence.events
        status, reason = session["status"], session.get("reason")
        if not is_cut and (status, reason) != ("completed", self.script.reason):
            yield "end", f"it ended as {status}: {reason} ({session.get('detail')})"
        kinds = [entry.says["event_type"] for entry in events]
        if kinds.count("MAPSessionCompleted") != 1 or kinds[-1] != "MAPSessionCompleted":
            yield "end", "MAPSessionCompleted is not the one last event"
        last = events[-1]
        if self.evidence.dialog and (self.evidence.dialog[-1].at_ms > last.at_ms):
            yield "end", "something was written after the end"
        ids = Counter(entry.says["event_id"] for entry in (*events, *self.evidence.journal))
        if any(times > 1 for times in ids.values()):
            yield "record", "an event was recorded twice"
        if self.script.has_output and not is_cut and (fault := self._output()):
            yield "lost", fault
        speakers = {grant.token: grant.participant for grant in self.evidence.grants}
        for closing in self.evidence.written:
            expected = "skipped" if speakers.get(closing.token) in self.script.silent else "message"
            if closing.outcome != expected:
                yield "lost", f"turn {closing.number} ended as {closing.outcome}"
        if session.get("archive") == "owed":
            return  # nothing expires that the archive does not have
        if forever := [key for key, ttl_ms in self.evidence.ttl_ms.items() if ttl_ms == -1]:
            yield "end", f"keys that never expire: {forever}"
