"""Entries of a deliveries file: destinations of reports, by name.

    [archive]
    kind = "folder"
    folder = "/srv/reviews"

    [board]
    kind = "webhook"
    url = "https://hooks.example.com/reviews"
    secret_env = "BOARD_SECRET"              # the variable's name, never the secret

    [team]
    kind = "email"
    host = "smtp.example.com"
    sender = "reviews@example.com"
    to = ["team@example.com"]
    username = "reviews"
    password_env = "SMTP_PASSWORD"

    [pulls]
    kind = "github"
    repository = "example/shop"
    token_env = "GITHUB_TOKEN"

    [merges]
    kind = "gitlab"
    project = "example/shop"
    token_env = "GITLAB_TOKEN"

    [chat]
    kind = "slack"
    url_env = "SLACK_URL"                    # the URL of the webhook is its secret

A schedule names a delivery. Only the operator's file names folders, hosts and variables.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, IPvAnyNetwork, RootModel, StringConstraints, model_validator

from ...agents.people import MailAddress
from ...agents.tables import EntryBase, HttpUrl, VariableName
from ...models.severity import Severity
from ...models.text.durations import Duration
from ...models.text.ids import ResourceName
from ...models.text.paths import ExpandedPath


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("must be an absolute path")
    return path


AbsolutePath = Annotated[ExpandedPath, AfterValidator(_absolute)]
Networks = Annotated[tuple[IPvAnyNetwork, ...], Field(max_length=100)]
HostName = Annotated[str, StringConstraints(max_length=253, pattern=r"^[A-Za-z0-9.:_-]+$")]


class RetriedEntry(EntryBase):
    """Common fields of all deliveries."""

    #: Maximum attempts of one delivery; the delays are 10 s, 20 s, 40 s, up to an hour.
    attempts: int = Field(default=8, ge=1, le=50)

    @property
    def variables(self) -> tuple[str, ...]:
        """Environment variables that the delivery reads: its fields whose names end with `_env`."""
        return tuple(value for name, value in self if name.endswith("_env") and value is not None)


class HttpEntry(RetriedEntry):
    """Common fields of deliveries by HTTP."""

    #: Networks that may be called although they are private, also without TLS.
    networks: Networks = ()
    #: Seconds one request may take.
    timeout_s: Duration = Field(default=10, gt=0, le=60)


class FolderEntry(RetriedEntry):
    """Delivery to a folder: each run gets its own folder below this one."""

    kind: Literal["folder"]
    folder: AbsolutePath
    #: Number of runs kept for each root and panel; older ones are deleted.
    keep: int = Field(default=30, ge=1, le=10_000)


class WebhookEntry(HttpEntry):
    """Delivery to a webhook: a summary with the findings as JSON, signed like turns of remote systems."""

    kind: Literal["webhook"]
    url: HttpUrl
    secret_env: VariableName


class EmailEntry(RetriedEntry):
    """Delivery by e-mail: a summary, with the reports attached. Nothing is sent without TLS."""

    kind: Literal["email"]
    host: HostName
    #: Port; None: 587, or 465 with `security = "tls"`.
    port: int | None = Field(default=None, ge=1, le=65_535)
    #: `starttls`: the connection is encrypted before any message; `tls`: encrypted from its beginning.
    security: Literal["starttls", "tls"] = "starttls"
    #: File of certificates to trust instead of the system's.
    ca_file: AbsolutePath | None = None
    sender: MailAddress
    to: tuple[MailAddress, ...] = Field(min_length=1, max_length=100)
    username: str | None = Field(default=None, min_length=1, max_length=254)
    password_env: VariableName | None = None
    #: Maximum seconds of each step of the conversation.
    timeout_s: Duration = Field(default=30, gt=0, le=120)

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if (self.username is None) != (self.password_env is None):
            raise ValueError("must have both username and password_env, or neither")
        return self


class CodeHostEntry(HttpEntry):
    """Common fields of the deliveries to pull requests: comments on lines, one summary, a commit status."""

    api_url: HttpUrl
    token_env: VariableName
    #: File of certificates to trust instead of the system's.
    ca_file: AbsolutePath | None = None
    timeout_s: Duration = Field(default=20, gt=0, le=60)
    #: Findings below this severity have no comment of their own; they are in the summary.
    comments_from: Severity = Severity.LOW
    #: Maximum number of open comments; further findings are in the summary.
    max_comments: int = Field(default=50, ge=0, le=500)
    #: The commit status fails if an open finding has this severity or a higher one.
    fail_on: Severity | Literal["never"] = Severity.LOW


class GithubEntry(CodeHostEntry):
    """Delivery to the pull requests of a GitHub repository."""

    kind: Literal["github"]
    #: With GitHub Enterprise Server: https://HOST/api/v3.
    api_url: HttpUrl = "https://api.github.com"
    repository: Annotated[str, StringConstraints(max_length=200, pattern=r"^[\w.-]+/[\w.-]+$")]
    #: True: write a check run with annotations instead of the commit status, which only GitHub Apps (as in Actions) may.
    check_run: bool = False
    #: True: upload the findings to code scanning, too.
    sarif: bool = False
    #: Branch whose code scanning gets the findings of runs that review no pull request.
    branch: Annotated[str, StringConstraints(max_length=200, pattern=r"^[\w./-]+$")] | None = None


class GitlabEntry(CodeHostEntry):
    """Delivery to the merge requests of a GitLab project."""

    kind: Literal["gitlab"]
    api_url: HttpUrl = "https://gitlab.com/api/v4"
    #: Path with its groups, or number.
    project: Annotated[str, StringConstraints(max_length=300, pattern=r"^[\w.-]+(/[\w.-]+)*$")]


class SlackEntry(HttpEntry):
    """Delivery to an incoming webhook of Slack or Mattermost: a summary with links."""

    kind: Literal["slack"]
    #: Variable with the URL, which is secret.
    url_env: VariableName
    #: Host that the URL must have.
    host: HostName = "hooks.slack.com"
    #: Program that shows the text.
    app: Literal["slack", "mattermost"] = "slack"
    #: Address of Flower, for links of Slack to the review and its report; None: no such links.
    flower_url: HttpUrl | None = None


DeliveryEntry = Annotated[
    FolderEntry | WebhookEntry | EmailEntry | GithubEntry | GitlabEntry | SlackEntry,
    Field(discriminator="kind"),
]


class DeliveriesFile(RootModel[Annotated[dict[ResourceName, DeliveryEntry], Field(max_length=1_000)]]):
    """A whole deliveries file."""
