"""A person reviews what an agent writes. The person's turns wait without a worker.

symposia up                        # in one terminal
python examples/editor.py          # in another; answer here, or with `symposia reply`
"""

from symposia import Client, Collab, Participant

client = Client()
job = client.submit(
    Collab(
        title="A line above the door",
        purpose="Write one line for the sign above the door of a library.",
        mode="pair",
        participants=[
            Participant(participant_id="writer"),
            Participant(participant_id="editor", display_name="The Editor", kind="human"),
        ],
    ),
    agents={
        "writer": {"agent": "echo", "parameters": {"replies": ["Books, and more.", "All doors are here."]}},
        "editor": {"agent": "human", "wait": {"deadline_s": 3600, "then": "skip"}},
    },
    stop={"max_rounds": 5},
)
for moment in job.live():
    if moment is None:  # no new event: check for open questions
        for question in job.pending():
            written = list(job.messages())[-1].content
            answer = input(f"{written}\nYour answer (APPROVED: ... ends the session): ") or "PASS"
            job.reply("editor", answer, token=question.reply_token)
result = job.result()
print(f"{result.collab.status}: {result.reason} ({result.detail}) after {result.turns} turns")
