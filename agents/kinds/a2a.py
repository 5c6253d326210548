"""`[agents.NAME] kind = "a2a"`: an agent of another system, called by the Agent2Agent protocol (A2A).

    [agents.partner]
    kind = "a2a"
    url = "https://agents.example.com/research"     # where its card is: URL/.well-known/agent-card.json
    token_env = "PARTNER_TOKEN"                     # the variable's name, never the token
    timeout_s = "10m"
    ask = "ann"                                     # answers what the agent asks; without it, the turn fails

Only hosts and networks that `[webhooks]` allows are called.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pydantic import Field

from ...models.errors import AgentFailed, MissingPackage
from ...models.extras import Needed, check_installed
from ...models.sessions.options import AgentBinding
from ...models.text.durations import Duration
from ..entry import FieldProblem, GuardedEntry, KindEnv
from ..tables import FileTables, HttpUrl, VariableName, Window

if TYPE_CHECKING:
    from ..remote.a2a import A2AAgent

_WHAT = 'an agent of kind "a2a"'


class A2AEntry(GuardedEntry):
    """The entry of an agent of another system."""

    kind: Literal["a2a"]
    #: URL of the agent, under which its card is.
    url: HttpUrl
    #: Name of the variable with the bearer token; None: no token is sent.
    token_env: VariableName | None = None
    #: Maximum seconds until its task ends, within the turn's deadline; None: until that deadline.
    timeout_s: Duration | None = Field(default=None, gt=0, le=86_400)
    #: Maximum seconds without an answer to a request.
    request_timeout_s: Duration = Field(default=30, gt=0, le=600)
    #: Seconds between two requests for the state of its task, if the agent does not stream; they double up to 30 s.
    poll_s: Duration = Field(default=1, ge=0.1, le=60)
    #: Person who answers its questions: a participant or an approver. None: the first person; if there is none, the
    #: turn fails.
    ask: str | None = Field(default=None, min_length=1, max_length=200)
    window: Window = 100

    @property
    def host(self) -> str:
        """Host of the URL."""
        return urlsplit(self.url).hostname or ""

    def create(self, _binding: AgentBinding, env: KindEnv) -> A2AAgent:
        """As in AgentKind."""
        try:
            with Needed(_WHAT):
                from ..remote.a2a import A2AAgent, A2AOptions
        except MissingPackage as error:
            raise AgentFailed(str(error), retryable=False) from None

        options = A2AOptions(
            url=self.url,
            host=self.host,
            token_env=self.token_env,
            timeout_s=self.timeout_s,
            request_timeout_s=self.request_timeout_s,
            poll_s=self.poll_s,
            ask=self.ask,
            networks=env.tables.webhooks.networks,
        )
        return A2AAgent(options, env.read_variable)

    def describe(self) -> str:
        """As in AgentKind."""
        return self.host

    def check(self, env: KindEnv) -> Iterator[FieldProblem]:
        """As in AgentKind."""
        try:
            check_installed("a2a", _WHAT)
        except MissingPackage as error:
            yield FieldProblem("kind", str(error))
        if self.token_env and not env.read_variable(self.token_env):
            yield FieldProblem("token_env", f"environment variable {self.token_env} is not set")

    def broken_rules(self, tables: FileTables, _sessions: Collection[str]) -> Iterator[tuple[str, str]]:
        """As in AgentKind."""
        if not tables.webhooks.allows(self.host):
            hosts = ", ".join(tables.webhooks.hosts)
            yield "url", f"must be on a host allowed by [webhooks] hosts: {hosts} (got {self.host!r})"
