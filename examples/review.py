"""A pair session from Python. Start `symposia up` in another terminal, then: python examples/review.py"""

from symposia import Collab, Participant, submit

collab = Collab(
    title="An add function",
    purpose="Write a Python function that adds two numbers.",
    mode="pair",
    participants=[Participant(participant_id="coder"), Participant(participant_id="reviewer")],
)
agents = {  # a name such as "local", or a name with parameters
    "coder": {"agent": "echo", "parameters": {"replies": ["return a - b", "return a + b"]}},
    "reviewer": {"agent": "echo", "parameters": {"replies": ["That subtracts.", "APPROVED: it adds."]}},
}
job = submit(collab, agents=agents)
for message in job.messages(follow=True):
    print(f"{message.speaker}: {message.content}")
result = job.result(timeout=60)
print(f"{result.collab.status}: {result.reason} ({result.detail}) after {result.turns} turns")
