"""The agents of the sessions: they do nothing, wait, or say when they were called."""

from __future__ import annotations

import asyncio
import time

from symposia.models.turns.turn import Decision, Expects, TurnContext, TurnOutcome

#: Seconds between two messages of the agent `paced`.
PACE_S = 0.02

AGENTS = """
[agents.quiet]
kind = "scripted"
replies = ["word"]

[agents.lead]
kind = "scripted"
replies = ["NEXT: ann"]

[agents.reviewer]
kind = "scripted"
replies = ["once more"]

[agents.reader]
kind = "python"
callable = "harness.agents:read"
window = 50

[agents.stamp]
kind = "python"
callable = "harness.agents:stamp"
window = 1

[agents.paced]
kind = "python"
callable = "harness.agents:speak_paced"
window = 1

[agents.slow]
kind = "python"
callable = "harness.agents:speak_slowly"
window = 1
"""


async def read(turn: TurnContext) -> str:
    """Answer with the number of messages in the window."""
    return str(len(turn.messages))


async def stamp(turn: TurnContext) -> str | TurnOutcome:
    """Answer with the time in nanoseconds, as the mode needs it."""
    text = str(time.time_ns())
    if turn.expects is Expects.DECISION:
        return TurnOutcome.say(text).model_copy(update={"decision": Decision(next=("ann",))})
    if turn.expects is Expects.REVIEW:
        return TurnOutcome.say(text).model_copy(update={"decision": Decision(satisfied=False)})
    return text


async def speak_paced(turn: TurnContext) -> str:
    """Answer after a short pause, so that a follower is not late because of earlier messages."""
    await asyncio.sleep(PACE_S)
    return "word"


async def speak_slowly(turn: TurnContext) -> str:
    """Answer after the seconds that the session's parameters give."""
    await asyncio.sleep(float(turn.parameters["wait_s"]))
    return "word"
