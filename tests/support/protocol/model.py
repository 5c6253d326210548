"""What the turn protocol should do, as a model that shares nothing with the scripts."""

from __future__ import annotations

from dataclasses import dataclass, field

OPEN = {"planned", "speaking", "parked", "held"}


@dataclass
class Seat:
    """A turn as the model remembers it until a plan consumes it."""

    scope: str
    status: str = "planned"
    token: str | None = None
    #: Every token it was ever granted under.
    tokens: set[str] = field(default_factory=set)
    #: Given back with a delay that has not passed yet.
    waits: bool = False
    held: tuple[str, ...] = ()
    #: The reply token it is parked under, and the request that ended the wait.
    reply: str | None = None
    request: str | None = None


@dataclass
class Intent:
    """A plan, made when the session was at `version`."""

    version: int
    scopes: tuple[str, ...] = ()
    drop: tuple[int, ...] = ()
    consumed: tuple[int, ...] = ()
    finishes: bool = False


@dataclass
class Model:
    status: str = "active"
    version: int = 0
    next: int = 1
    fence: int = 0
    stop: bool = False
    seats: dict[int, Seat] = field(default_factory=dict)
    locks: dict[str, str] = field(default_factory=dict)
    #: number -> the token that wrote it.
    written: dict[int, str] = field(default_factory=dict)
    dialog: list[str] = field(default_factory=list)
    #: Tokens in the order in which they were closed, and how.
    closings: list[tuple[str, str]] = field(default_factory=list)
    conflicts: int = 0
    laments: int = 0
    refusals: int = 0

    @property
    def is_final(self) -> bool:
        return self.status in ("completed", "cancelled")

    def open_numbers(self) -> tuple[int, ...]:
        return tuple(number for number, seat in sorted(self.seats.items()) if seat.status in OPEN)

    def closed_numbers(self) -> tuple[int, ...]:
        return tuple(number for number, seat in sorted(self.seats.items()) if seat.status == "closed")

    def holds(self, number: int, scope: str, token: str) -> bool:
        """May this token still write this turn?"""
        seat = self.seats.get(number)
        return (
            seat is not None
            and seat.status == "speaking"
            and seat.token == token
            and self.locks.get(scope) == token
            and not self.is_final
        )

    # -- verbs ---------------------------------------------------------------------------

    def plan(self, intent: Intent) -> str:
        if self.status != "active":
            return "inactive"
        if self.version != intent.version:
            return "outdated"
        self._apply(intent)
        return "planned"

    def begin(self, number: int, scope: str, token: str) -> str:
        if self.status != "active":
            return "inactive"
        seat = self.seats.get(number)
        if seat is None:
            return "done" if number < self.next else "unknown"
        if seat.scope != scope or seat.status not in OPEN:
            return "done" if seat.scope == scope else "unknown"
        if seat.status == "parked":
            return "waiting"
        if seat.waits:
            return "early"
        holder = self.locks.get(scope)
        if token in seat.tokens:
            return "granted" if holder == token else "lost"
        return "granted" if holder is None and self._grant(seat, token) else "busy"

    def _grant(self, seat: Seat, token: str) -> bool:
        if seat.status == "speaking":
            self._close(seat, "expired")
        seat.status, seat.token, seat.request = "speaking", token, None
        seat.tokens.add(token)
        self.fence += 1
        self.locks[seat.scope] = token
        return True

    def commit(
        self, number: int, scope: str, token: str, texts: tuple[str, ...], ahead: Intent | None
    ) -> str:
        seat = self.seats.get(number)
        if seat is None or seat.status == "closed":
            if self.written.get(number) == token:
                return "done"
            return self._refused()
        if seat.status == "dropped":
            self.laments += 1
            return "inactive"
        if seat.status == "held" and seat.token == token:
            return "held"
        if not self.holds(number, scope, token):
            return self._refused()
        del self.locks[scope]
        if self.status == "suspended":
            seat.status, seat.held = "held", texts
            return "held"
        self._settle(number, texts)
        if ahead is not None and ahead.version == self.version:
            self._apply(ahead)
        return "committed"

    def fail(self, number: int, scope: str, token: str, *, waits: bool) -> str:
        seat = self.seats.get(number)
        if seat is None or seat.status not in OPEN:
            return "done"
        if seat.token == token and seat.status == "planned":
            return "retried"
        if not self.holds(number, scope, token):
            return "stale"
        self._close(seat, "failed")
        del self.locks[scope]
        seat.status, seat.waits = "planned", waits
        return "retried"

    def park(self, number: int, scope: str, token: str, reply: str) -> str:
        seat = self.seats.get(number)
        if seat is None or seat.status not in OPEN:
            return "done"
        if seat.status == "parked" and seat.reply == reply:
            return "parked"
        if not self.holds(number, scope, token):
            return "stale"
        del self.locks[scope]
        seat.status, seat.reply, seat.request = "parked", reply, None
        return "parked"

    def reply(self, number: int, reply: str, request: str, texts: tuple[str, ...] | None) -> str:
        """`texts` None: the turn is given back."""
        seat = self.seats.get(number)
        if seat is None or seat.status == "closed":
            return "replied" if self.written.get(number) == request else "double"
        if seat.status == "dropped":
            return "inactive"
        if seat.request == request:
            return "held" if seat.status == "held" else "returned"
        if seat.reply != reply or seat.status != "parked":
            return "foreign" if seat.reply != reply else "double"
        return self._end_wait(number, seat, request, texts)

    def _end_wait(self, number: int, seat: Seat, request: str, texts: tuple[str, ...] | None) -> str:
        seat.request = request
        if texts is None:
            self._close(seat, "asked")
            seat.status, seat.token = "planned", None
            return "returned"
        if self.status == "suspended":
            seat.status, seat.held = "held", texts
            return "held"
        self._settle(number, texts)
        return "replied"

    def activate(self) -> bool:
        if self.status != "draft":
            return False
        self.status = "active"
        return True

    def suspend(self) -> bool:
        if self.status != "active":
            return False
        self.status = "suspended"
        return True

    def resume(self) -> bool:
        if self.status != "suspended":
            return False
        self.status = "active"
        for number in self.open_numbers():
            if self.seats[number].status == "held":
                self._settle(number, self.seats[number].held)
        return True

    def cancel(self) -> bool:
        if self.is_final:
            return False
        self._end("cancelled")
        return True

    def request_stop(self) -> bool:
        if self.is_final or self.status == "draft":
            return False
        self.version += not self.stop
        self.stop = True
        return True

    def owed(self) -> tuple[set[int], bool]:
        """What a sweep without any grace gives out: turns, and whether a step is to be planned."""
        if self.status != "active":
            return set(), False
        turns = {n for n in self.open_numbers() if self._is_owed(self.seats[n])}
        busy = [n for n in self.open_numbers() if not (self.stop and self.seats[n].status == "parked")]
        return turns, bool(self.closed_numbers()) or not busy

    # -- inside --------------------------------------------------------------------------

    def _is_owed(self, seat: Seat) -> bool:
        if seat.status == "parked":
            return False
        return not seat.waits if seat.status == "planned" else seat.scope not in self.locks

    def _refused(self) -> str:
        if self.is_final:
            self.refusals += 1
        else:
            self.conflicts += 1
        return "stale"

    def _close(self, seat: Seat, outcome: str) -> None:
        assert seat.token is not None
        self.closings.append((seat.token, outcome))

    def _settle(self, number: int, texts: tuple[str, ...]) -> None:
        seat = self.seats[number]
        self.dialog.extend(texts)
        self._close(seat, "message" if texts else "passed")
        assert seat.token is not None
        self.written[number] = seat.request or seat.token
        seat.status = "closed"

    def _drop(self, number: int, outcome: str) -> None:
        seat = self.seats[number]
        if seat.status in ("speaking", "parked", "held"):
            self._close(seat, outcome)
        self.laments += seat.status == "held"
        if self.locks.get(seat.scope) == seat.token:
            self.locks.pop(seat.scope, None)
        seat.status = "dropped"
        if (old := self.seats.get(number - 64)) is not None and old.status == "dropped":
            del self.seats[number - 64]  # no more of them are remembered

    def _end(self, status: str) -> None:
        for number in self.open_numbers():
            self._drop(number, "cancelled")
        self.status = status

    def _apply(self, intent: Intent) -> None:
        for number in intent.consumed:
            del self.seats[number]
        self.version += 1
        if intent.finishes:
            self._end("completed")
            return
        for number in intent.drop:
            if self.seats[number].status in OPEN:
                self._drop(number, "dropped")
        for scope in intent.scopes:
            self.seats[self.next] = Seat(scope)
            self.next += 1
