"""The Python client: submits sessions and reviews, and finds them.

    from symposia import Client, Collab, Participant

    with Client() as client:
        job = client.submit(Collab(title="...", purpose="...", mode="pair", participants=[...]), agents={...})
        for message in job.messages(follow=True):
            print(message.speaker, message.content)

Input is checked before anything is written. Queued sessions run when a worker is running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import Client, default_client, installation_of

__all__ = ["Client", "default_client", "installation_of"]


def __getattr__(name: str) -> Any:
    # Imported on first access: commands and workers that only build parts need no client.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import client

    return getattr(client, name)
