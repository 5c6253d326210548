"""Methods of a client for batch reviews."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..models.errors import RedisUnavailable, ReviewNotFound
from .base import BaseClient
from .building.sessions import find_id

# Reviews are imported when one is used: most programs use sessions only.
if TYPE_CHECKING:
    from pathlib import Path

    from ..archive.results import ResultPage
    from ..reviews.batches.request import ReviewRequest
    from ..reviews.job import ReviewJob
    from ..reviews.values.runs import ListedReview, TrendPoint


class ReviewMethods(BaseClient):
    """The methods of a client that start and find batch reviews."""

    def review(  # noqa: PLR0913 - each is an option of a review
        self,
        *paths: str | Path,
        panel: str = "code",
        model: str | None = None,
        since: str | None = None,
        base: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        everything: bool = False,
        root_name: str | None = None,
        repository_url: str | None = None,
        panels_file: Path | None = None,
        config: Sequence[str | Path] | None = None,
        branch: str | None = None,
        against: str = "last",
        deliver: Sequence[str] = (),
        pull_request: int | None = None,
    ) -> ReviewJob:
        """Review files of this machine with a panel, each in its own session.

        Args:
            paths: Files and folders. None: the working folder.
            panel: Name of the panel.
            model: The agent for the panel's participants that use a model. None: no model is used.
            since: Only files changed since this git revision. `last`: since the newest completed run.
            base: Only files changed since the checked-out branch left this branch.
            include: Only files that match one of these patterns.
            exclude: No files that match one of these patterns.
            everything: Include files that have not changed since this panel's last review of them.
            root_name: The name of the root in runs and reports. None: the folder's name.
            repository_url: The address of the repository, for links to lines in reports. None: that of the
                git remote `origin`.
            panels_file: A file of panels. None: `panels.toml` in the working folder, if there is one.
            config: Files with settings of ruff or bandit instead of the project's own. None: the project's
                own; empty: none.
            branch: The branch of the run. None: the checked-out branch.
            against: The branch whose last runs decide which findings are new. `last`: the last runs of any
                branch.
            deliver: Deliveries of the report, by their names in the workers' deliveries file.
            pull_request: The number of the pull or merge request that gets comments of these deliveries. None: none
                does.

        Returns:
            The review.

        Raises:
            InvalidInput: One line with field, value and rule; nothing was started.
            RedisUnavailable: Redis does not answer; nothing was started.
            ArchiveUnavailable: The archive does not answer; nothing was started.
        """
        from ..reviews.requests.files import request_for_files

        order = request_for_files(
            paths,
            archive=self._parts.sessions.archive,
            known_agents=self._parts.sessions.workers.known_agents(),
            panel=panel,
            model=model,
            since=since,
            base=base,
            include=include,
            exclude=exclude,
            everything=everything,
            root_name=root_name,
            repository_url=repository_url,
            panels_file=panels_file,
            config=config,
            branch=branch,
            against=against,
            deliver=deliver,
            pull_request=pull_request,
        )
        return self._start(order)

    def review_sessions(
        self,
        *ids: str,
        panel: str = "document",
        model: str | None = None,
        tag: str | None = None,
        participant: str | None = None,
        newest: int | None = None,
        everything: bool = False,
        panels_file: Path | None = None,
        deliver: Sequence[str] = (),
    ) -> ReviewJob:
        """Review transcripts of archived sessions with a panel.

        Args:
            ids: Sessions of the archive. None: those that have ended, the newest first.
            panel: Name of the panel.
            model: The agent for the panel's participants that use a model. None: no model is used.
            tag: Only sessions with this tag.
            participant: Only sessions with this participant.
            newest: Maximum number of sessions, the newest. None: 5,000.
            everything: Include sessions that have not changed since this panel's last review of them.
            panels_file: A file of panels. None: `panels.toml` in the working folder, if there is one.
            deliver: Deliveries of the report, by their names in the workers' deliveries file.

        Returns:
            The review.

        Raises:
            InvalidInput: One line with field, value and rule; nothing was started.
            SessionNotFound: One of `ids` is not in the archive.
            RedisUnavailable: Redis does not answer; nothing was started.
            ArchiveUnavailable: The archive does not answer; nothing was started.
        """
        from ..reviews.requests.files import request_for_sessions

        order = request_for_sessions(
            ids,
            archive=self._parts.sessions.archive,
            known_agents=self._parts.sessions.workers.known_agents(),
            panel=panel,
            model=model,
            tag=tag,
            participant=participant,
            newest=newest,
            everything=everything,
            panels_file=panels_file,
            deliver=deliver,
        )
        return self._start(order)

    def _start(self, order: ReviewRequest) -> ReviewJob:
        from ..reviews.batches.start import start_batch

        job = self._review_job(start_batch(self._parts.reviews, order))
        self._parts.sessions.connections.watch_workers(f"review {job.id}").check()
        return job

    def reviews(self, *, limit: int = 20, after: str | None = None) -> ResultPage[ListedReview]:
        """Return one page of the running and archived reviews, newest first.

        Without Redis these are archived reviews only, without an archive those that Redis holds.

        Args:
            limit: Maximum number of reviews.
            after: The `cursor` of the page before. None: the first page.

        Returns:
            The reviews, and the cursor of the next page, None after the last one.

        Raises:
            InvalidInput: The cursor is not valid.
            ArchiveUnavailable: The archive does not answer.
        """
        from ..reviews.job import review_page

        return review_page(self._parts.reviews, limit=limit, after=after)

    def review_trend(
        self,
        root: str | None = None,
        *,
        panel: str | None = None,
        branch: str | None = None,
        limit: int = 20,
    ) -> list[TrendPoint]:
        """Return the counts of findings over the last archived reviews of a root by one panel.

        Args:
            root: Name of the root. None: that of the newest review.
            panel: Name of the panel. None: that of the newest review of the root.
            branch: Only reviews of this branch. None: of any branch.
            limit: Maximum number of reviews, the newest.

        Returns:
            The reviews, the oldest first; none without an archive.

        Raises:
            ArchiveUnavailable: The archive does not answer.
        """
        from ..reviews.archive.access import review_reader

        archive = self._parts.sessions.archive
        if archive is None or archive.open_reader() is None:
            return []
        return review_reader(archive).trend(root, panel, branch=branch, limit=limit)

    def get_review(self, batch_id: str) -> ReviewJob:
        """Return a review that was started before, in any process. With a whole id, nothing is read yet.

        Args:
            batch_id: Its id, or the first 8 or more characters of it, if no other review starts with them.

        Returns:
            The review. Its methods raise ReviewNotFound.

        Raises:
            AmbiguousId: Several reviews have ids that start with this.
            InvalidInput: It is no id, and is shorter than 8 characters.
            ReviewNotFound: No review has an id that starts with it.
            ArchiveUnavailable: The archive does not answer.
            RedisUnavailable: Redis does not answer, and the archive has no such id.
        """
        return self._review_job(find_id(batch_id, self._review_ids, kind="review", not_found=ReviewNotFound))

    def _review_ids(self, prefix: str) -> list[str]:
        """Return the ids of listed and archived reviews that start with `prefix`."""
        from ..reviews.archive.access import review_reader
        from ..reviews.state.queues import LISTED

        archive = self._parts.sessions.archive
        is_readable = archive is not None and archive.open_reader() is not None
        archived = review_reader(archive).ids(prefix) if archive is not None and is_readable else []
        try:
            listed = self._parts.reviews.index.newest(count=LISTED)
        except RedisUnavailable:
            if not archived:
                raise
            return archived
        return list(
            dict.fromkeys([*(review_id for review_id in listed if review_id.startswith(prefix)), *archived])
        )

    def _review_job(self, batch_id: str) -> ReviewJob:
        from ..reviews.job import ReviewJob

        watch = self._parts.sessions.connections.watch_workers
        return ReviewJob(batch_id, self._parts.reviews, watch_workers=watch)
