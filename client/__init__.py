"""The Python API: submit sessions and reviews, and find them again.

    from symposia import Client, Collab, Participant

    with Client() as client:
        job = client.submit(Collab(title="...", purpose="...", mode="pair", participants=[...]), agents={...})
        for message in job.messages(follow=True):
            print(message.speaker, message.content)

Everything is checked before anything is written. What is queued runs when a worker is running.
"""

from .client import Client, default_client, installation_of

__all__ = ["Client", "default_client", "installation_of"]
