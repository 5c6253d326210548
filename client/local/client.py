"""`LocalClient`: an installation in this process, with an embedded server and agents given as objects."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ...jobs.collab import CollabJob
from ...models.sessions.submission import Submission
from ..client import Client
from ..in_process.installation import THREADS, InProcessInstallation


class LocalClient(Client):
    """A client whose sessions run in this process: planners, scripts and state are those of an installation.

        with LocalClient({"ada": my_function}) as client:
            job = client.submit(collab, agents={"ada": "ada"})

    An embedded server on loopback holds the sessions. `close` ends it, and nothing remains on disk: there is no archive.
    Registered agents (`agents.toml`, and built-in ones) can be used, too.

    Args:
        agents: Agents by name: functions, or agents of other libraries (`agents/kinds/object.py`).
        threads: Maximum number of turns that run side by side.
        settings: Settings by name in the place of those of this process, such as `turn_timeout_s`.

    Raises:
        InvalidInput: An object is no agent, or a setting is wrong.
        EmbeddedServerError: The server cannot be started.
        RegistryError: The agents file breaks a rule.
    """

    def __init__(
        self,
        agents: Mapping[str, object] = MappingProxyType({}),
        *,
        threads: int = THREADS,
        **settings: Any,
    ) -> None:
        self._local = self._open(agents, threads=threads, **settings)
        super().__init__(local=self._local)

    def _open(self, agents: Mapping[str, object], **settings: Any) -> InProcessInstallation:
        """Return the installation of this client."""
        return InProcessInstallation(agents, keeps_files=True, **settings)

    def submit_unattended(self, submission: Submission) -> CollabJob:
        """Submit a session that needs no answer from outside.

        Raises:
            InvalidInput: A value breaks a rule, or an agent waits for a person or a remote system.
        """
        return self._local.submit_unattended(submission)

    def close(self) -> None:
        """Cancel the sessions that have not ended, and end the server. A second call does nothing."""
        self._local.close()  # first: turns that run may use the client
        super().close()
