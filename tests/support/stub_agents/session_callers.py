"""Python agents that call sessions, or try to wait for one."""

from __future__ import annotations

from symposia import AsyncClient, Client
from symposia.models.turns.turn import DraftMessage, TurnContext, TurnOutcome, Usage

ECHO = {
    "title": "Echo",
    "purpose": "say it again",
    "mode": "round_robin",
    "participants": [{"participant_id": "echo"}],
}


def edit(turn: TurnContext) -> TurnOutcome:
    """Call the panel twice, then say what it said."""
    if len(turn.answers) < 2:
        return TurnOutcome.call_session("panel", f"draft {len(turn.answers) + 1}")
    said = "; ".join(it.text or f"({it.error})" for it in turn.answers)
    return TurnOutcome.say(said, usage=Usage(input_tokens=3))


def call_forever(_turn: TurnContext) -> TurnOutcome:
    """Call the panel again and again."""
    return TurnOutcome.call_session("panel", "again")


def count(_turn: TurnContext) -> TurnOutcome:
    """Say something with data beside it."""
    return TurnOutcome(messages=(DraftMessage(content="three"),), output={"count": 3})


def ask_for_a_count(turn: TurnContext) -> TurnOutcome:
    """Call the session `counting`, and say the data of its answer."""
    if not turn.answers:
        return TurnOutcome.call_session("counting", "how many?")
    return TurnOutcome.say(f"{turn.answers[0].text}: {turn.answers[0].output}")


#: Client of the agents that wait; set by the test.
client: Client | None = None


def submit_and_wait(_turn: TurnContext) -> str:
    """Wait for another session."""
    assert client is not None
    return client.submit(ECHO, stop={"max_rounds": 1}).result().reason


async def submit_and_await(_turn: TurnContext) -> str:
    """Wait for another session on the event loop."""
    assert client is not None
    async with AsyncClient(client.settings) as own:
        job = await own.submit(ECHO, stop={"max_rounds": 1})
        return (await job.result()).reason
