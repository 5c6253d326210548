"""Sessions on a real worker, with an archive, and the Flower that shows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from live import until
from servers.flower import Answer, FlowerServer, action_headers, basic
from symposia.client import Client
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.state.redis.connect import connect

CREDENTIALS = "ann:as-long-as-it-is-secret"
#: Agents besides those of all tests; `url`: that of the model.
AGENTS = """
[agents.expert]
kind = "python"
callable = "stub_agents.alignment:expert"
window = 1000

[agents.twice]
kind = "python"
callable = "stub_agents.asking:twice"

[agents.careful]
kind = "python"
callable = "stub_agents.asking:careful"

[agents.stepped]
kind = "python"
callable = "stub_agents.live:stepped"
window = 1000

[agents.talks]
kind = "python"
callable = "stub_agents.live:talks"

[agents.model]
kind = "llm"
model = "stub"

[models.stub]
model = "stub"
base_url = "{url}"
request_timeout_s = 60
"""


@dataclass
class Dashboard:
    """Where sessions run, and the Flower that shows them."""

    folder: Path
    settings: dict[str, str]
    client: Client
    flower: FlowerServer

    def submit(
        self, mode: str, agents: dict[str, Any], *, title: str = "A session", **options: Any
    ) -> CollabJob:
        roles, people = options.pop("roles", {}), options.pop("people", ())
        collab = Collab(
            title=title,
            purpose=options.pop("purpose", "see that it works"),
            mode=mode,
            participants=[
                Participant(
                    participant_id=it, role_id=roles.get(it), kind="human" if it in people else "agent"
                )
                for it in agents
            ],
        )
        return self.client.submit(collab, agents=agents, **options)

    def get(self, job: CollabJob, part: str = "") -> Any:
        """JSON of a session, without the state of the data that every answer has."""
        answer = self.flower.json(f"/api/collabs/{job.id}{part}", **basic(CREDENTIALS))
        assert answer.pop("health")["level"] == "live"
        return answer

    def raw(self, job: CollabJob, part: str) -> Answer:
        return self.raw_path(f"/api/collabs/{job.id}{part}")

    def raw_path(self, path: str) -> Answer:
        return self.flower.get(path, **basic(CREDENTIALS))

    def page(self, job: CollabJob) -> Answer:
        return self.flower.get(f"/collabs/{job.id}", **basic(CREDENTIALS))

    def file(self, job: CollabJob, form: str) -> Answer:
        return self.flower.get(f"/api/collabs/{job.id}/export/{form}", **basic(CREDENTIALS))

    def act(self, job: CollabJob, action: str, body: Any = None, **changed: str | None) -> Answer:
        """An action as the page performs it; `changed` replaces headers, or removes them."""
        headers = {**action_headers(self.flower, CREDENTIALS), **changed}
        sent = {name: value for name, value in headers.items() if value is not None}
        return self.flower.post(f"/api/collabs/{job.id}/{action}", body, **sent)

    def all_pages(self, job: CollabJob, part: str, count: int) -> list[Any]:
        """Every page of messages, events or timeline, newest first."""
        pages = [self.get(job, f"/{part}?count={count}")]
        while pages[-1]["before"] is not None:
            pages.append(self.get(job, f"/{part}?count={count}&before={pages[-1]['before']}"))
        return pages

    def expire(self, job: CollabJob) -> None:
        """Removes a session from Redis once the archive has its end."""
        reader = until(self.client.archived, what="there is an archive")
        until(lambda: reader.has_ended(job.id), what="the session is archived")
        with connect(self.settings["redis_url"]) as redis:
            redis.delete(*redis.scan_iter(f"symposia:{{{job.id}}}:*"))
        until(lambda: not self.get(job)["is_live"], what="Flower reads the archive")
