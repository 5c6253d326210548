"""A session in one process: it needs no worker, no server, no agents file and no API key.

python first.py
"""

from symposia import TurnContext, run_local_sync


def ada(turn: TurnContext) -> str:
    return "The Lantern Room?" if turn.turn_number == 1 else "AGREED."


def ben(turn: TurnContext) -> str:
    return f"{turn.messages[-1].content} It has a lamp in every window."


result = run_local_sync(
    {"title": "A name", "purpose": "Find a name for the reading room.", "mode": "round_robin"},
    agents={"ada": ada, "ben": ben},
    stop={"max_turns": 3},
)
for message in result.dialog.messages:
    print(f"{message.speaker}: {message.content}")
