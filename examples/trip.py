"""Two sessions about one trip: the second request names neither origin nor destination.

    symposia up                  # in one terminal
    python examples/trip.py      # in another

The agent `echo` returns the replies given here, so this program needs no model.
"""

from symposia import Collab, MaxTurns, Participant, submit


def ask(request: str, **said: str) -> None:
    travel_desk = {"agent": "echo", "parameters": {"replies": ["Known: {memory}. To ask: {ask}."]}}
    job = submit(
        Collab(
            title="A trip",
            purpose=request,
            mode="round_robin",
            participants=[Participant(participant_id="desk")],
        ),
        agents={"desk": travel_desk},
        stop=MaxTurns(1),
        user_id=42,
        room_id="examples",
        service="travel",
        said=said,
    )
    for message in job.result(timeout=30).dialog.messages:
        print(f"> {request}\n  {message.content}")


ask("Find me flights from Nairobi to London", **{"from": "Nairobi", "to": "London"})
ask("What about returning on February 20?", return_date="2026-02-20")
