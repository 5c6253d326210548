"""The sessions of the fault suite: one play per mode and its expected result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from chaos.audit.outcomes import NOTED
from chaos.script import Script
from symposia.client.steps.service import session_id_of
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.on_end import ON_END
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns
from symposia.models.sessions.subsessions import ParentRef

#: Fails at once, and for good: its turn is skipped.
SKIPPED = {"attempts": 2, "backoff_s": 0, "then": "skip", "turn_timeout_s": 1}


@dataclass(frozen=True)
class Play:
    """A session to be submitted, and the script it will be held against."""

    script: Script
    agents: Mapping[str, Any]
    roles: Mapping[str, str] = field(default_factory=dict)
    how: Mapping[str, Any] = field(default_factory=dict)
    #: Participants without an agent.
    people: tuple[str, ...] = ()
    #: Its sub-sessions, which it opens itself.
    children: tuple[Play, ...] = ()
    #: Id of the Celery task of which it is the session; None: it is submitted.
    task: str | None = None

    @property
    def id(self) -> str:
        return self.script.session

    def family(self) -> Iterator[Play]:
        """Yield the session and all below it."""
        yield self
        for child in self.children:
            yield from child.family()

    def document(self) -> dict[str, Any]:
        """Return the session as the document of a sub-session."""
        names = [{"participant_id": name} for name in self._names()]
        turns = {"max_turns": len(self.script.groups)}
        title = {"title": f"A {self.script.mode} sub-session", "purpose": "come through"}
        return {
            **title,
            "mode": self.script.mode,
            "participants": names,
            "agents": self.agents,
            "stop": turns,
        }

    def collab(self) -> Collab:
        """Return a new collab with the same id each time."""
        return Collab(
            collab_id=self.id,
            title=f"A {self.script.mode} session",
            purpose="come through",
            mode=self.script.mode,
            participants=[self._participant(name) for name in self._names()],
        )

    def _names(self) -> list[str]:
        """Return participants in order: agents, then people, with the first speaker first."""
        names, groups = [*self.agents, *self.people], self.script.groups
        return sorted(names, key=lambda name: name not in groups[0]) if groups else names

    def _participant(self, name: str) -> Participant:
        kind = "human" if name in self.people else "agent"
        return Participant(participant_id=name, role_id=self.roles.get(name), kind=kind)


def with_a_person(random: Random) -> Play:
    """An agent and a person in turn."""
    groups = (("ann",), ("ben",)) * random.randint(1, 2)
    script = Script(_id(random), "round_robin", reason="max_turns", groups=groups)
    return Play(script, {"ann": "say"}, people=("ben",), how={"stop": MaxTurns(len(groups))})


def round_robin(random: Random) -> Play:
    names = ("ann", "bob", "cyd")
    turns = random.randint(4, 8)
    groups = tuple((names[i % 3],) for i in range(turns))
    script = Script(_id(random), "round_robin", reason="max_turns", groups=groups)
    return Play(script, dict.fromkeys(names, "say"), how={"stop": MaxTurns(turns)})


def stepped(random: Random) -> Play:
    """The session of a step of a canvas."""
    task = _id(random)
    script = Script(session_id_of(task), "round_robin", reason="max_turns", groups=(("ann",), ("bob",)))
    return Play(script, dict.fromkeys(("ann", "bob"), "say"), how={"stop": MaxTurns(2)}, task=task)


def ending(random: Random) -> Play:
    """A session whose end sends a Celery signature."""
    script = Script(_id(random), "round_robin", reason="max_turns", groups=(("ann",),))
    return Play(script, {"ann": "say"}, how={"stop": MaxTurns(1), ON_END: {"task": NOTED}})


def pair(random: Random) -> Play:
    """A pair session, which begins as a draft."""
    script = Script(_id(random), "pair", reason="approved", groups=(("dora",), ("nick",)) * 3)
    return Play(script, {"dora": "say", "nick": "navigator"}, how={"draft": True})


def orchestrated(random: Random) -> Play:
    groups = (("lead",), ("coder",), ("lead",), ("tester", "writer"), ("lead",))
    script = Script(_id(random), "orchestrated", reason="satisfied", groups=groups)
    agents = {"lead": "lead", "coder": "say", "tester": "say", "writer": "say"}
    return Play(script, agents, how={"options": {"orchestrator": "lead"}})


def broadcast(random: Random) -> Play:
    """All answer, then the aggregator answers; twice."""
    names = ("ann", "bob", "cyd")
    groups = (names, ("sum",)) * 2
    script = Script(_id(random), "broadcast", reason="max_rounds", groups=groups)
    agents = dict.fromkeys((*names, "sum"), "say")
    return Play(script, agents, how={"options": {"aggregator": "sum"}, "stop": MaxRounds(2)})


def quorum(random: Random) -> Play:
    """The first two answers close each round; the third may be dropped."""
    names = ("ann", "bob", "cyd")
    script = Script(_id(random), "broadcast", reason="max_rounds", groups=(names,) * 2, quorum=2)
    return Play(script, dict.fromkeys(names, "say"), how={"options": {"quorum": 2}, "stop": MaxRounds(2)})


def swarm(random: Random) -> Play:
    items = ("plan", "paint", "build", "test")
    script = Script(_id(random), "swarm", reason="board_empty", items=items)
    agents = dict.fromkeys(("ann", "bob", "tess"), "claimer")
    options = {"items": [{"text": "plan"}, {"text": "paint"}]}
    return Play(script, agents, roles={"tess": "tester"}, how={"options": options})


def linked_swarm(random: Random) -> Play:
    """Items that wait for others, some of them added by an agent; a reducer closes the board."""
    items = ("paint", "plan", "build", "test", "sell")
    script = Script(_id(random), "swarm", reason="board_empty", items=items, reducer="bob")
    agents = dict.fromkeys(("ann", "bob", "tess"), "claimer")
    board = [
        {"text": "paint", "after": ["plan"]},
        {"text": "plan", "id": "plan"},
        {"text": "sell", "after": ["1"]},
    ]
    return Play(script, agents, roles={"tess": "tester"}, how={"items": board, "reducer": "bob"})


def moody(random: Random, *, mood: str | None = None) -> Play:
    """One of the three never speaks as it should, and is skipped each time."""
    mood = mood or random.choice(["raises", "returns rubbish", "returns 50 MB", "exits"])
    groups = tuple((name,) for name in ("ann", "bob", "cyd") * 2)
    fickle = frozenset({"bob"})
    script = Script(_id(random), "round_robin", reason="max_turns", groups=groups, silent=fickle)
    agents = {"ann": "say", "bob": "moody", "cyd": "say"}
    how = {"stop": MaxTurns(6), "policies": {"bob": SKIPPED}, "parameters": {"mood": mood}}
    return Play(script, agents, how=how)


def typed(random: Random, *, is_short: bool = False) -> Play:
    """The last turn must give an output, and its speaker gives it only when it is asked again.

    `is_short`: there is no other turn.
    """
    names = ("bob",) if is_short else ("ann", "bob") * random.randint(1, 2)
    groups = tuple((name,) for name in names)
    script = Script(_id(random), "round_robin", reason="max_turns", groups=groups, has_output=True)
    schema = {"type": "object", "required": ["nonce"]}
    agents = {name: "clerk" if name == "bob" else "say" for name in names}
    return Play(script, agents, how={"stop": MaxTurns(len(groups)), "output": schema})


def drawn(random: Random) -> Play:
    """Two speak in turn, each with a file."""
    groups = (("ann",), ("bob",)) * random.randint(1, 2)
    script = Script(_id(random), "round_robin", reason="max_turns", groups=groups)
    return Play(script, dict.fromkeys(("ann", "bob"), "artist"), how={"stop": MaxTurns(len(groups))})


def guarded(random: Random) -> Play:
    """The agent's first answer is refused, and a person approves its second; then the person speaks."""
    groups = (("bob",), ("ben",)) * random.randint(1, 2)
    script = Script(_id(random), "round_robin", reason="max_turns", groups=groups)
    return Play(script, {"bob": "guarded"}, people=("ben",), how={"stop": MaxTurns(len(groups))})


def paying(random: Random) -> Play:
    """A model calls a tool that needs an approval; a person without turns approves one call and refuses the other."""
    groups = (("bob",),) * random.randint(1, 2)
    script = Script(_id(random), "round_robin", reason="max_turns", groups=groups, noted=False)
    return Play(script, {"bob": "payer"}, how={"stop": MaxTurns(len(groups)), "approvers": ["ann"]})


def gated(random: Random) -> Play:
    """Two speak in turn, each when the arena's gate is open."""
    script = Script(_id(random), "pair", reason="max_turns", groups=(("dora",), ("nick",)))
    return Play(script, {"dora": "gated", "nick": "gated"}, how={"stop": MaxTurns(2)})


def one_turn(random: Random) -> Play:
    """One speaks, when the arena's gate is open."""
    script = Script(_id(random), "round_robin", reason="max_turns", groups=(("ann",),))
    return Play(script, {"ann": "gated"}, how={"stop": MaxTurns(1)})


def person_first(random: Random) -> Play:
    """A person speaks, then an agent, when the arena's gate is open."""
    script = Script(_id(random), "round_robin", reason="max_turns", groups=(("ben",), ("ann",)))
    return Play(script, {"ann": "gated"}, people=("ben",), how={"stop": MaxTurns(2)})


def modelled(random: Random, *, attempts: int) -> Play:
    """Two seats of the agent `model`, which has as many attempts as are needed."""
    names = ("ann", "bob")
    script = Script(
        _id(random),
        "round_robin",
        reason="max_turns",
        groups=tuple((name,) for name in names * 2),
        noted=False,
    )
    patience = {"attempts": attempts, "backoff_s": 0.2, "max_backoff_s": 0.5}
    return Play(
        script,
        dict.fromkeys(names, "model"),
        how={"stop": MaxTurns(4), "policy": patience, "options": {"repetition": "ignore"}},
    )


def nested(random: Random) -> Play:
    """An agent, then a team with a team inside."""
    outer = _id(random)
    team = ParentRef.below(outer, None, turn=2, call=0)
    inner = ParentRef.below(team.child_id, team, turn=2, call=0)
    innermost = _team(inner.child_id, ("eve", "fay"), None)
    middle = _team(team.child_id, ("cat", "inner"), innermost)
    return _team(outer, ("ann", "team"), middle)


def _team(session: str, names: tuple[str, str], below: Play | None) -> Play:
    """Two in turn; the second is the session below, if there is one."""
    teams = {} if below is None else {names[1]: below.id}
    groups = tuple((name,) for name in names)
    script = Script(session, "round_robin", reason="max_turns", groups=groups, teams=teams)
    agents: dict[str, Any] = dict.fromkeys(names, "say")
    if below is not None:
        agents[names[1]] = {"session": below.document()}
    children = () if below is None else (below,)
    return Play(script, agents, how={"stop": MaxTurns(2)}, children=children)


#: The five modes; broadcast and swarm in both their forms, a session with a person, one with a required output,
#: one with sub-sessions, a step of a canvas, and one with `on_end`.
MODES: tuple[Callable[[Random], Play], ...] = (
    round_robin,
    pair,
    orchestrated,
    broadcast,
    quorum,
    swarm,
    linked_swarm,
    with_a_person,
    typed,
    nested,
    stepped,
    ending,
)


#: The plays by their names.
NAMED = {mode.__name__: mode for mode in MODES}


def plays(random: Random, count: int, names: Sequence[str] = ()) -> list[Play]:
    """Return sessions of all modes in turn. After the first of each mode, one in twenty has a misbehaving agent.

    `names`: only plays of these names.
    """
    if names:
        return [NAMED[names[i % len(names)]](random) for i in range(count)]
    return [_choose(random, i)(random) for i in range(count)]


def _choose(random: Random, number: int) -> Callable[[Random], Play]:
    """Return the play of a number. Every boundary must be reached, so the first of each mode is not replaced."""
    is_moody = random.random() < 0.05 and number >= len(MODES)
    return moody if is_moody else MODES[number % len(MODES)]


def waiting_plays(random: Random, count: int) -> list[Play]:
    """Sessions that wait for the gate, one in five for a person first."""
    return [person_first(random) if i % 5 == 0 else one_turn(random) for i in range(count)]


def _id(random: Random) -> str:
    """A new id, the same for the same seed."""
    return str(UUID(int=random.getrandbits(128), version=4))
