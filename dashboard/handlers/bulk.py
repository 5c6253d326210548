"""Actions on many sessions, and their export as one file."""

from __future__ import annotations

import asyncio
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace

from pydantic import JsonValue
from tornado.web import HTTPError

from ...client.aio.jobs import AsyncCollabJob, blocking_job
from ...models.errors import InvalidInput, SymposiaError
from ...models.sessions.query import SessionQuery
from ...models.text.words import count_of
from ..bulk import MAX_SESSIONS, Plan, Selection, describe_result, matching_ids, plan_bulk, run_bulk
from ..views.list_parts import describe
from ..views.session.export import open_export
from .base import ActionHandler
from .collabs import query_params
from .downloads import DownloadHandler, Output
from .session_actions import read_text

#: Parameters of a query: a wrong name must not select more sessions.
_PARAMETERS = ("select", *(field.name for field in fields(SessionQuery)))
#: Maximum number of sessions in one export.
MAX_EXPORT = 1_000


class BulkAction(ActionHandler):
    """Handler of an action on many sessions.

    The body has `action` and either `ids` or `query`, the parameters of the list; `cancel` also takes `reason`. With
    `ask`, an action that cannot be undone is not performed; the answer has the dialog that asks whether to do so, and the
    `ids` that it names.
    """

    async def act(self, body: dict[str, JsonValue], *_parts: str) -> object:
        """Perform the action; return how many sessions it changed, and the failures."""
        selection = await self._seen(read_selection(body))
        name = read_text(body, "action")
        plan = await plan_bulk(self.services, name, selection)
        counts = {"action": name, "total": plan.total, "changing": len(plan.ids)}
        if body.get("ask") is True and plan.verb.asks and plan.ids:
            return {**counts, "dialog": self._dialog(name, plan, selection), "ids": list(plan.ids)}
        reason = read_text(body, "reason") if body.get("reason") is not None else ""
        result = await run_bulk(self.services, plan, actor=self.actor, reason=reason)
        failures = [{"id": session_id, "error": error} for session_id, error in result.failures]
        text = describe_result(plan, result)
        return {**counts, "done": result.done, "failed": result.failed, "failures": failures, "text": text}

    async def _seen(self, selection: Selection) -> Selection:
        """Return the selection within the tenant of the user. Raises SessionNotFound for an id of another one."""
        if self.caller.tenant is None or selection.query is None:
            for session_id in selection.ids:
                await self.check_session(session_id)
            return selection
        return replace(selection, query=selection.query.changed(tenant=self.caller.tenant))

    def _dialog(self, name: str, plan: Plan, selection: Selection) -> str:
        query = selection.query
        rows = (self.services.sessions.get(session_id) for session_id in plan.ids)
        speaking = sum(
            row is not None and any(s["state"] == "speaking" for s in row["speakers"]) for row in rows
        )
        return self.render_string(
            "fragments/bulk_dialog.html",
            name=name,
            plan=plan,
            filters=None if query is None else [*describe(query)],
            speaking=speaking,
            count_of=count_of,
        ).decode()


def read_selection(body: dict[str, JsonValue]) -> Selection:
    """Return the sessions of a request.

    Raises:
        InvalidInput: The request names none, or a value breaks a rule. A wrong filter must not select more sessions.
    """
    ids, query = body.get("ids"), body.get("query")
    if isinstance(query, dict) and ids is None:
        if unknown := query.keys() - _PARAMETERS:
            raise InvalidInput(
                "query", sorted(unknown), f"must have only parameters of the list: {', '.join(_PARAMETERS)}"
            )
        params = {name: [read_text(query, name)] for name in query}
        return Selection(query=SessionQuery.read_strictly(params))
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids) or query is not None:
        raise InvalidInput("ids", ids, "must be a list of ids, unless `query` is an object with parameters")
    if len(ids) > MAX_SESSIONS:
        raise InvalidInput("ids", len(ids), f"must be at most {MAX_SESSIONS:,} ids")
    return Selection(ids=tuple(dict.fromkeys(str(item) for item in ids)))


class BulkExport(DownloadHandler):
    """Sessions as a ZIP file with one JSON file for each: those of `id`, or with `select=all` all that match."""

    async def get(self) -> None:
        """Send the file."""
        params = query_params(self)
        ids: Sequence[str] = params.get("id", [])
        if self.query_text("select") == "all":
            query = SessionQuery.read_strictly(params)
            ids = [session_id async for session_id in matching_ids(self.services, query, most=MAX_EXPORT)]
        if not ids:
            raise HTTPError(400, reason="select the sessions to export")
        if len(ids) > MAX_EXPORT:
            raise InvalidInput("id", len(ids), f"must be at most {MAX_EXPORT:,} sessions")
        for session_id in ids:
            await self.check_session(session_id)
        loop = asyncio.get_running_loop()

        def read_job(session_id: str) -> AsyncCollabJob:
            return asyncio.run_coroutine_threadsafe(self.services.client.get_job(session_id), loop).result()

        await self.send_file("sessions.zip", "application/zip", _pieces(ids, read_job))


def _pieces(ids: Sequence[str], read_job: Callable[[str], AsyncCollabJob]) -> Iterator[bytes]:
    """Yield the ZIP file. A session that cannot be read has a file with the error."""
    output = Output()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
        for session_id in ids:
            try:
                export = open_export(blocking_job(read_job(session_id)), "json")
                with archive.open(export.file_name, "w") as file:
                    for piece in export.pieces:
                        file.write(piece.encode())
                        yield output.take()
            except SymposiaError as error:
                archive.writestr(f"{session_id}.error.txt", str(error))
            yield output.take()
    yield output.take()
