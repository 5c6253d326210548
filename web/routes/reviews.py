"""Routes of batch reviews, for callers of all tenants: a review belongs to the installation."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from fastapi import Path, Query, Response
from pydantic import Field, JsonValue

from ...models.errors import InvalidInput
from ...models.text.ids import AnyUuid
from ...reviews.reports.formats import format_of_ending, render
from ...reviews.values.runs import ReviewRun
from ..answers import Answer
from ..context import AllController, AllReader, ContextDep
from ..routing import api_router
from ..submissions import Body
from .contents import download
from .lists import read_list

router = api_router("reviews")

ReviewId = Annotated[AnyUuid, Path()]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class ReviewBody(Body):
    """What is reviewed: `schedule`, or `root` with `panel`."""

    #: A schedule that runs once more.
    schedule: Name | None = None
    #: A folder of the setting `review_roots`.
    root: Name | None = None
    panel: Name = "code"
    #: The agent for the panel's participants that use a model; null: no model is used.
    model: Name | None = None
    #: Only files changed since this git revision; `last`: since the newest completed run.
    since: Name | None = None
    #: Only files changed since the checked-out branch left this branch.
    base: Name | None = None
    include: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    exclude: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    everything: bool = False
    #: Deliveries of the report, by their names in the workers' deliveries file.
    deliver: Annotated[tuple[Name, ...], Field(max_length=10)] = ()


class StartedReview(Answer):
    """A review that was started."""

    id: str


class ReviewPage(Answer):
    """A page of reviews, newest first."""

    items: list[dict[str, JsonValue]]
    next_cursor: str | None


class ReviewData(Answer):
    """A review."""

    id: str
    root: str
    panel: str
    state: str
    revision: str
    branch: str
    started_at: str
    ended_at: str | None
    summary: str
    #: Number of items by state, of findings by severity, and by status.
    items: dict[str, int]
    severities: dict[str, int]
    statuses: dict[str, int]
    usage: JsonValue

    @classmethod
    def of(cls, run: ReviewRun) -> ReviewData:
        """Return the data of a run."""
        return cls(
            id=run.id,
            root=run.root_name,
            panel=run.panel,
            state=run.state.value,
            revision=run.revision,
            branch=run.branch,
            started_at=run.started_at.isoformat(),
            ended_at=None if run.ended_at is None else run.ended_at.isoformat(),
            summary=run.summary,
            items=Counter(result.state.value for result in run.results),
            severities=Counter(finding.severity.value for finding in run.findings),
            statuses=Counter(finding.status.value for finding in run.findings if finding.status is not None),
            usage=run.usage.to_json_data(),
        )


@router.get("/reviews")
async def get_reviews(
    context: ContextDep,
    _: AllReader,
    cursor: Annotated[str | None, Query(max_length=1_000)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> ReviewPage:
    """List running and archived reviews, newest first."""
    page = await read_list(context, lambda client: client.reviews(limit=limit, after=cursor))
    rows = [{**review.to_json(), "root": review.root_name} for review in page.items]
    return ReviewPage(items=rows, next_cursor=page.cursor)


@router.post("/reviews", status_code=202)
async def start_review(body: ReviewBody, context: ContextDep, _: AllController) -> StartedReview:
    """Start a review of a named root, or run a schedule once more."""
    if (body.schedule is None) == (body.root is None):
        raise InvalidInput("root", body.root, "must be set, or `schedule`, and not both")
    if body.schedule is not None:
        return StartedReview(id=await context.client.schedules.run_now(body.schedule))
    folder = context.settings.review_roots.get(str(body.root))
    if folder is None:
        raise InvalidInput("root", body.root, "must be the name of a folder of the setting `review_roots`")
    options = body.model_dump(exclude={"schedule", "root"})
    job = await context.client.review(folder, root_name=body.root, **options)
    return StartedReview(id=job.id)


@router.get("/reviews/{review_id}")
async def get_review(review_id: ReviewId, context: ContextDep, _: AllReader) -> ReviewData:
    """Return a review."""
    job = await context.client.get_review(review_id)
    return ReviewData.of(await job.run())


@router.post("/reviews/{review_id}/cancel")
async def cancel_review(review_id: ReviewId, context: ContextDep, caller: AllController) -> ReviewData:
    """Cancel a review; its running sessions end."""
    job = await context.client.get_review(review_id)
    await job.cancel(f"cancelled by {caller.name}")
    return ReviewData.of(await job.run())


@router.get(
    "/reviews/{review_id}/report.{form}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The report."}},
)
async def get_report(
    review_id: ReviewId,
    form: Literal["html", "md", "json", "jsonl", "sarif", "xml"],
    context: ContextDep,
    _: AllReader,
) -> Response:
    """Return the report of a review as a file; `json` is RDFormat, `xml` is JUnit."""
    job = await context.client.get_review(review_id)
    report = format_of_ending(form, field="form")
    text = await context.client.run(render, await job.run(), report)
    return download(text.encode(), report.file_name, report.media_type)
