"""Agents that use dialog memory: those of the documented examples, and some that misbehave."""

from __future__ import annotations

from symposia.models.memory.learned import Learned
from symposia.models.turns.turn import TurnContext, TurnOutcome

#: The parser takes parameters from what the user says, turn by turn; the connector uses them.
REGISTRY = """
[agents.parser]
kind = "scripted"
replies = [
    { say = "Find me flights from Nairobi to London next week", learned = { service = "travel", parameters = { from = "Nairobi", to = "London", departure_date = "2026-02-10" } } },
    { say = "What about returning on Feb 20?", learned = { parameters = { return_date = "2026-02-20" } } },
    { say = "Show me business class options", learned = { parameters = { cabin_class = "business" } } },
]

[agents.connector]
kind = "scripted"
replies = [
    { say = "searched with {memory}", learned = { parameters = { last_searches = [{ results = 12, price_range = "180k-320k" }] } } },
    { say = "searched with {memory}", learned = { inferred = { round_trip = true } } },
    { say = "searched with {memory}" },
]

[agents.payer]
kind = "scripted"
replies = [
    { say = "Send 5000 shillings to +254712345678", learned = { service = "payment", parameters = { amount = 5000, recipient = "+254712345678" } } },
    { say = "Send another 3000 to the same person", learned = { parameters = { amount = 3000 } } },
]

[agents.teller]
kind = "scripted"
replies = ["{memory} | ask: {ask}"]

[agents.moody]
kind = "python"
callable = "stub_agents.memory:moody"

[agents.careless]
kind = "python"
callable = "stub_agents.memory:careless"

[agents.viewer]
kind = "python"
callable = "stub_agents.memory:viewer"

[agents.forgetful]
kind = "python"
callable = "stub_agents.memory:forgetful"

[agents.learner]
kind = "python"
callable = "stub_agents.memory:learner"

[agents.noter]
kind = "scripted"
replies = ["A seat.\\n**NOTE:** Likes the window seat."]

[agents.reader]
kind = "scripted"
replies = ["knows: {recalled}"]

[agents.silent]
kind = "scripted"
replies = [{ pass = true, learned = { service = "search", parameters = { query = "quiet places" } } }]
"""


def moody(turn: TurnContext) -> TurnOutcome:
    """Fail at the first attempt, and print the name at the second."""
    if turn.attempt == 1:
        raise RuntimeError("not yet")
    return TurnOutcome.say("now").model_copy(
        update={"learned": Learned(service="travel", parameters={"to": f"attempt {turn.attempt}"})}
    )


def careless(turn: TurnContext) -> TurnOutcome:
    """Learn invalid values: a wrong type, an unknown service, a page of text."""
    learned = (
        Learned(service="travel", parameters={"to": "London", "passenger_count": "many"}),
        Learned(service="alchemy", parameters={"to": "Gold"}),
        Learned(service="travel", parameters={"from": "x" * 50_000}),
    )
    return TurnOutcome.say("done").model_copy(update={"learned": learned[(turn.turn_number - 1) % 3]})


def viewer(turn: TurnContext) -> str:
    """Print the whole memory view."""
    return "nothing" if turn.memory is None else turn.memory.model_dump_json()


def forgetful(turn: TurnContext) -> TurnOutcome:
    """Was asked to forget where the user comes from."""
    return TurnOutcome.say("forgotten").model_copy(update={"learned": Learned(forget=("from",))})


def learner(turn: TurnContext) -> TurnOutcome:
    """Learn one new parameter in each turn."""
    name = f"p{turn.turn_number}"
    learned = Learned(service="search", parameters={name: turn.me.participant_id})
    return TurnOutcome.say(f"{turn.me.participant_id} sets {name}").model_copy(update={"learned": learned})
