"""Requests of model agents in a long session, and what a provider's cache finds of them. No model is asked.

The prices are those of Anthropic as multiples of the price of input: reading from the cache 0.1, writing to it 1.25. A
request reads the longest entry that ends at one of its marked points, or at most 20 blocks before one; entries of fewer
than 1,024 tokens are not written. Entries are taken to live from one request to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pydantic_ai.messages import CachePoint, ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from symposia.agents.agent import InMemoryNotes, TurnServices
from symposia.agents.execution.runner import AgentRunner
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.settings import LLMSettings, ModelSource
from symposia.models.protocol.dialog import Message, Role, build_turn_message
from symposia.models.turns.items import WorkItem
from symposia.models.turns.turn import Expects, TurnContext
from symposia.testing.agents import BEGIN, ROSTER, turn

READ, WRITE = 0.1, 1.25
#: Blocks before a point in which an earlier entry is looked for.
LOOK_BACK = 20
#: Characters of the shortest entry, of 1,024 tokens, and of a message, of 270 tokens.
LEAST_ENTRY, MESSAGE = 4 * 1_024, 4 * 270
#: Names of the participants of each mode, in the order of their turns.
ORDERS: dict[str, tuple[str, ...]] = {
    "round_robin": ("ann", "bob", "cleo"),
    "orchestrated": ("ann", "bob", "ann", "cleo"),
    "pair": ("ann", "bob"),
    "broadcast": ("ann", "bob", "cleo"),
    "swarm": ("ann", "bob", "cleo"),
}
ANSWER = "{} " + "x" * (MESSAGE - 20)


@dataclass(frozen=True)
class Request:
    """Blocks of a request in the order in which a provider reads them, and the indices of those that a cache point follows."""

    blocks: tuple[str, ...]
    points: tuple[int, ...]

    @property
    def size(self) -> int:
        """Its characters."""
        return sum(map(len, self.blocks))

    def begin(self, blocks: int) -> int:
        """Return the characters of its first blocks."""
        return sum(map(len, self.blocks[:blocks]))


@dataclass(frozen=True)
class Figures:
    """What a session sent, in characters, and its cost in characters of input."""

    sent: int
    #: Shared with the previous request of the same participant; the first requests share nothing.
    shared: int
    #: Read from the cache at marked points.
    read: int
    cost: float
    #: Cost for a client that only appends: the shared beginning is read, the rest is written.
    appending: float

    @property
    def shared_percent(self) -> float:
        """Share of what was sent in the identical beginning."""
        return 100 * self.shared / self.sent

    @property
    def read_percent(self) -> float:
        """Share of what was sent that a provider reads at marked points."""
        return 100 * self.read / self.sent

    @property
    def cost_percent(self) -> float:
        """Cost, of that without a cache."""
        return 100 * self.cost / self.sent

    @property
    def appending_percent(self) -> float:
        """Cost, of that of a client that only appends, with the same window."""
        return 100 * self.cost / self.appending


def record_requests(mode: str, turns: int, max_tokens: int, *, window: int = 0) -> dict[str, list[Request]]:
    """Return the requests of each participant of a session.

    Args:
        mode: The mode.
        turns: Turns of the session.
        max_tokens: `context_tokens` of the agents.
        window: Maximum messages that a turn reads; 0: all.
    """
    requests: dict[str, list[Request]] = {name: [] for name in ORDERS[mode]}
    speaker = ""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        requests[speaker].append(_request(info.instructions or "", messages))
        return ModelResponse(parts=[TextPart(f"Minutes. {'x' * 600}")])

    settings = LLMSettings(context_tokens=max_tokens, summary=True, window=window, structured=False)
    agent = LLMAgent(lambda: [ModelSource(FunctionModel(answer, model_name="none"))], settings)
    notes = {name: InMemoryNotes() for name in requests}
    runner = AgentRunner()
    try:
        for context in _turns(mode, turns, window):
            speaker = context.me.participant_id
            services = TurnServices(notes=notes[speaker])
            runner.start(agent, context, timeout_s=60, turn_services=services).result()
    finally:
        runner.close()
    return requests


def _turns(mode: str, turns: int, window: int) -> Iterator[TurnContext]:
    order = ORDERS[mode]
    opening = Message(role=Role.USER, content="The opening. " + "x" * MESSAGE, timestamp=BEGIN)
    dialog: list[Message] = [opening]
    for number in range(1, turns + 1):
        speaker = order[(number - 1) % len(order)]
        # Participants of a broadcast see the messages before their round.
        beside = (number - 1) % len(order) if mode == "broadcast" else 0
        given = dialog[: len(dialog) - beside]
        decides = mode == "orchestrated" and speaker == order[0]
        yield turn(
            speaker,
            mode=mode,
            roster=[p for p in ROSTER if p.participant_id in order],
            messages=given[-window:] if window else given,
            opening=[opening],
            turn_number=number,
            expects=Expects.DECISION if decides else Expects.MESSAGE,
            item=WorkItem(item_id=f"i{number}", text=f"Work on part {number}.") if mode == "swarm" else None,
            timeout_s=60,
        )
        content = "NEXT: bob\nINSTRUCTION: " * decides + ANSWER.format(number)
        said = {"participant_id": speaker, "turn_number": number, "token_id": "t", "fence": number}
        dialog.append(
            build_turn_message(Role.AGENT, content, timestamp=BEGIN + timedelta(seconds=number), **said)
        )


def _request(system: str, messages: Sequence[ModelMessage]) -> Request:
    blocks, points = [system], [0]
    for message in messages:
        for part in message.parts:
            content = part.content if isinstance(part, UserPromptPart | TextPart) else ""
            for block in [content] if isinstance(content, str) else content:
                if isinstance(block, CachePoint):
                    points.append(len(blocks) - 1)
                else:
                    blocks.append(str(block))
    return Request(tuple(blocks), tuple(points))


def count(requests: dict[str, list[Request]]) -> Figures:
    """Return the figures of a session."""
    figures = Figures(0, 0, 0, 0.0, 0.0)
    for of_participant in requests.values():
        before, entries = Request((), ()), set[tuple[str, ...]]()
        for now in of_participant:
            shared = next(
                (i for i, (a, b) in enumerate(zip(before.blocks, now.blocks, strict=False)) if a != b),
                min(len(before.blocks), len(now.blocks)),
            )
            ends = [point + 1 for point in now.points if now.begin(point + 1) >= LEAST_ENTRY]
            candidates = {end - back for end in ends for back in range(LOOK_BACK)}
            found = (
                end for end in sorted(candidates, reverse=True) if end > 0 and now.blocks[:end] in entries
            )
            read = now.begin(next(found, 0))
            written = max(0, now.begin(max(ends, default=0)) - read)
            entries |= {now.blocks[:end] for end in ends}
            same = now.begin(shared)
            figures = Figures(
                figures.sent + now.size,
                figures.shared + same,
                figures.read + read,
                figures.cost + READ * read + WRITE * written + (now.size - read - written),
                figures.appending + READ * same + WRITE * (now.size - same),
            )
            before = now
    return figures
