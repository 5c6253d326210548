"""A session as the body of a request submits it: a session file by name, or an inline session document.

A caller names agents and session files, never code, paths or hosts. What belongs to other tenants is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ..config.settings import Settings
from ..jobs.session_file import SessionFile
from ..models.attachments import ATTACHMENTS, MAX_PER_MESSAGE, Attachment
from ..models.errors import InvalidInput
from ..models.identity import Caller
from ..models.sessions.limits import Tenant
from ..models.sessions.submission import Submission
from ..models.sessions.subsessions import session_holders
from ..models.text.ids import is_uuid4
from ..models.text.nearest import did_you_mean
from .bodies import decode_base64

#: Options that name things of the installation which have no tenant.
_WITHOUT_TENANT = ("task", "conversation", "user_id", "room_id")


class Body(BaseModel):
    """The body of a request; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AttachmentBody(Body):
    """A file of the first message."""

    name: str
    media_type: str | None = None
    #: The bytes in base64.
    data: str

    def read(self, field: str) -> Attachment:
        """Return the attachment.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        data = decode_base64(f"{field}.data", self.data)
        try:
            return Attachment.of(self.name, data, media_type=self.media_type)
        except InvalidInput as error:
            raise error.within(field) from None


class SubmissionBody(Body):
    """A session: `file`, or `session`."""

    #: Name of a session file of the setting `jobs`.
    file: str | None = None
    #: Values of the inputs of the file.
    inputs: dict[str, bool | int | float | str] | None = None
    #: A session document: the fields of a session file, without names of other files.
    session: dict[str, JsonValue] | None = None
    #: Id of the session; the same id with the same content again is the same session.
    collab_id: str | None = None
    #: Messages that replace those of the file or document.
    messages: list[str | dict[str, JsonValue]] | None = None
    #: Tags of the session.
    tags: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=20)] | None = None
    tenant: Tenant | None = None
    thread_id: str | None = None
    priority: str | None = None
    #: Whether the session waits for `activate`.
    draft: bool | None = None
    attachments: Annotated[list[AttachmentBody], Field(max_length=MAX_PER_MESSAGE)] | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of `submit` that are given."""
        given: dict[str, Any] = {
            name: value
            for name in ("messages", "thread_id", "priority", "draft")
            if (value := getattr(self, name)) is not None
        }
        return given


def find_file(name: str, settings: Settings) -> Path:
    """Return the path of a session file.

    Raises:
        InvalidInput: No session file has this name.
    """
    path = settings.jobs.get(name)
    if path is None:
        known = sorted(settings.jobs)
        hint = did_you_mean(name, known)
        raise InvalidInput("file", name, f"must be the name of a session file of the server{hint}")
    return path


def open_file(name: str, settings: Settings) -> SessionFile:
    """Return a session file of the setting `jobs`.

    Raises:
        InvalidInput: No session file has this name, or it cannot be read.
    """
    return SessionFile.open(str(find_file(name, settings)), root=settings.session_root)


def read_body(body: SubmissionBody, caller: Caller, settings: Settings) -> Submission:
    """Return the submission of a request. It reads files.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    if (body.file is None) == (body.session is None):
        raise InvalidInput("file", body.file, "must be set, or `session`, and not both")
    if body.collab_id is not None and not is_uuid4(body.collab_id):
        raise InvalidInput("collab_id", body.collab_id, "must be a UUID of version 4 in lower case")
    if body.file is not None:
        submission = open_file(body.file, settings).submission(body.inputs, body.options())
    else:
        if body.inputs is not None:
            raise InvalidInput("inputs", sorted(body.inputs), "must be set together with `file`")
        document = {**(body.session or {}), **body.options()}
        if caller.tenant is not None:
            _check_document(document, "session")
        submission = Submission.from_document(document)
    return _with_own_values(submission, body, caller)


def check_agents(agents: Mapping[str, Any] | None, caller: Caller) -> None:
    """Refuse sub-sessions of agents that name what has no tenant, if the caller has one.

    Raises:
        InvalidInput: A document does.
    """
    if caller.tenant is not None:
        _check_document({"agents": agents}, "")


def _check_document(document: Mapping[str, Any], where: str) -> None:
    """Refuse what has no tenant in the document of a caller of one tenant, also in its sub-sessions."""
    for name in _WITHOUT_TENANT:
        if document.get(name) is not None:
            raise InvalidInput(
                f"{where}.{name}".lstrip("."), "given", "must be omitted by a caller of one tenant"
            )
    for place, binding in session_holders(document):
        if isinstance(below := binding["session"], Mapping):
            _check_document(below, f"{where}.{place}".lstrip("."))


def _with_own_values(submission: Submission, body: SubmissionBody, caller: Caller) -> Submission:
    """Return the submission with the owner, id, tags, tenant and attachments of the request."""
    changes: dict[str, Any] = {"owner": caller.name}
    collab: dict[str, Any] = {}
    if body.collab_id is not None:
        collab["collab_id"] = body.collab_id
    if body.tags is not None:
        collab["meta"] = submission.collab.meta.changed(tags=tuple(dict.fromkeys(body.tags)))
    if collab:
        changes["collab"] = submission.collab.changed(**collab)
    if caller.tenant is not None:
        if (wanted := body.tenant or submission.tenant) not in (None, caller.tenant) and body.file is None:
            raise InvalidInput("tenant", wanted, f"must be {caller.tenant!r}, the tenant of the caller")
        changes["tenant"] = caller.tenant
    elif body.tenant is not None:
        changes["tenant"] = body.tenant
    if body.attachments:
        files = [file.read(f"{ATTACHMENTS}[{index}]") for index, file in enumerate(body.attachments)]
        changes["attachments"] = (*submission.attachments, *files)
    return submission.model_copy(update=changes)
