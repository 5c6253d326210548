"""A whole session as a file, as `symposia export` writes it, read piece by piece. Every call blocks.

The streams of a session may be long. They are read in pages, so an export needs the memory of one page. Only an
alignment document is made as a whole, so it has a limit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from ....jobs.collab import CollabJob
from ....jobs.reading import heads_of, streams_of
from ....models.errors import InvalidInput
from ....models.protocol.base import Event
from ....models.text.ids import new_id
from ....models.text.redact import json_text
from ....state.redis.readers import read_stored
from .transcript import without_tokens

Json = dict[str, JsonValue]

#: Maximum number of messages of a session that is exported as an alignment document.
MAX_DOCUMENT_MESSAGES = 10_000


@dataclass(frozen=True, slots=True)
class Export:
    """A session as a file."""

    file_name: str
    content_type: str
    #: The text, read on demand.
    pieces: Iterator[str]


def open_export(job: CollabJob, form: str) -> Export:
    """Return a session as a file. Its first page is read when the first piece is taken.

    Until the session ends, its events are without tokens: the token of a turn that runs grants its commit.

    Args:
        job: The session.
        form: `json`, `map-events` or `alignment`.

    Raises:
        InvalidInput: The format is unknown, or is not possible for this session.
    """
    match form:
        case "json":
            return Export(f"{job.id}.json", "application/json", _session_pieces(job))
        case "map-events":
            placeholder = new_id()
            pieces = stream_json(
                {"session_id": job.id, "events": [placeholder]}, {placeholder: _map_events(job)}
            )
            return Export(f"{job.id}.map-events.json", "application/json", pieces)
        case "alignment":
            if job.state().messages > MAX_DOCUMENT_MESSAGES:
                raise InvalidInput(
                    "format",
                    form,
                    f"is for sessions of at most {MAX_DOCUMENT_MESSAGES} messages; export json",
                )
            return Export(f"{job.id}.dialogue.md", "text/markdown", iter([job.transcript()]))
        case _:
            raise InvalidInput("format", form, "must be json, map-events or alignment")


def stream_json(document: Mapping[str, JsonValue], lists: Mapping[str, Iterable[Json]]) -> Iterator[str]:
    """Yield a document as JSON whose long lists are read item by item.

    Args:
        document: The document. Each long list has one element, a text that occurs nowhere else.
        lists: The items of these lists by that text, in the order of the document.
    """
    rest = json_text(document, indent=2)
    for placeholder, items in lists.items():
        before, _, rest = rest.partition(json.dumps(placeholder))
        yield before
        new_line = before[before.rindex("\n") :]
        separator = ""
        for item in items:
            yield separator + json_text(item, indent=2).replace("\n", new_line)
            separator = f",{new_line}"
    yield rest


def _session_pieces(job: CollabJob) -> Iterator[str]:
    collab, dialog = heads_of(job)
    events, messages = new_id(), new_id()
    document = {
        "collab": {**collab.to_wire(), "events": [events]},
        "dialog": {**dialog.to_wire(), "messages": [messages]},
    }
    journal = (text for _, text in streams_of(job).whole(job.id, "journal"))
    return stream_json(
        document,
        {
            events: (
                read_stored(Event, text, session_id=job.id, part="journal").to_wire() for text in journal
            ),
            messages: (message.to_wire() for message in job.messages()),
        },
    )


def _map_events(job: CollabJob) -> Iterator[Json]:
    is_final = job.state().is_final
    for event in job.events():
        wire: Json = event.to_wire()
        if not is_final and isinstance(payload := wire.get("payload"), dict):
            wire["payload"] = without_tokens(payload)
        yield wire
