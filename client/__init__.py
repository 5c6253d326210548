"""The Python client: submits sessions and reviews, and finds them.

    from symposia import Client, Collab, Participant

    with Client() as client:
        job = client.submit(Collab(title="...", purpose="...", mode="pair", participants=[...]), agents={...})
        for message in job.messages(follow=True):
            print(message.speaker, message.content)

Input is checked before anything is written. Queued sessions run when a worker is running.
"""

from .client import Client, default_client, installation_of

__all__ = ["Client", "default_client", "installation_of"]
