"""Actions on many sessions, and their export as one file."""

from __future__ import annotations

import asyncio
import zipfile
from collections.abc import AsyncIterator, Iterator

from pydantic import JsonValue
from tornado.web import RequestHandler

from ...client.aio.jobs import blocking_job
from ...models.errors import InvalidInput, SymposiaError
from ...models.sessions.query import SessionQuery
from ..bulk import MAX_SESSIONS, Plan, Selection, describe_result, matching_ids, plan_bulk, run_bulk
from ..views.list_parts import describe
from ..views.session.export import open_export
from .base import ActionHandler
from .collab_list import read_query
from .downloads import DownloadHandler, Output
from .session_actions import read_text
