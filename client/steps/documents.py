"""What the message of a step holds: the document of its session, as JSON data.

The process that builds a signature reads the session file, and those that it names. So a message names no file of a
worker. Values of inputs that the step before gives are filled in by the worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, cast

from kombu.exceptions import EncodeError
from kombu.utils.json import dumps
from pydantic import BaseModel, JsonValue

from ...config.settings import Settings
from ...jobs.session_file import SessionFile, read_schema, read_table, roots_of
from ...jobs.subsession_files import FileResolver
from ...models.attachments import ATTACHMENTS
from ...models.errors import InvalidInput, check_known
from ...models.protocol.collab import Collab
from ...models.sessions.how_to_run import OPTIONS
from ...models.sessions.input_texts import escape_texts, fill_inputs, fill_texts
from ...models.sessions.inputs import FIELD, read_inputs
from ...models.sessions.on_end import ON_END
from ...models.sessions.stop_conditions import Condition
from ...models.sessions.submission import Submission
from ...models.text.json_text import dump_json

#: Name of the Celery task.
STEP = "symposia.session"
#: Arguments of the Celery task: the document, values of its inputs, and the input that the previous result becomes.
SESSION, PREVIOUS = "session", "previous"
#: Options of `apply_async` that belong to one attempt to send.
_OF_ONE_SENDING = (
    "producer",
    "connection",
    "publisher",
    "router",
    "eta",
    "countdown",
    "add_to_parent",
    "retry",
)
#: Fields of a collab that are new for each session.
_NEW = {"collab_id", "context_id", "status", "created_at", "updated_at", "meta", "events", "trace"}
_ONLY_SUBMIT = "must be given to `submit`: a step of a canvas does not have it"


def task_arguments(given: tuple[Any, ...], options: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the arguments of the Celery task for those of `symposia.session.s`.

    Args:
        given: A Collab, a table of its fields, or the path of a session file.
        options: Options of `submit` with JSON data, and `previous`.
        settings: The settings of this process.

    Raises:
        InvalidInput: One line with field, value and rule.
    """
    if len(given) != 1:
        raise InvalidInput(
            "collab", len(given), "must be one Collab, one table or one path of a session file"
        )
    check_known(options, (*OPTIONS, PREVIOUS))
    for name in (ATTACHMENTS, ON_END):
        if options.get(name) is not None:
            raise InvalidInput(name, options[name], _ONLY_SUBMIT)
    previous, inputs = options.get(PREVIOUS), options.get(FIELD)
    others = {
        name: to_json(value, name)
        for name, value in options.items()
        if name not in (PREVIOUS, FIELD) and value is not None
    }
    document = _document(given[0], others, settings)
    arguments = {SESSION: document, FIELD: to_json(inputs, FIELD), PREVIOUS: previous}
    arguments = {name: value for name, value in arguments.items() if value is not None}
    _check(document, cast("Mapping[str, Any]", arguments.get(FIELD, {})), previous)
    return arguments


def _document(collab: object, options: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    if isinstance(collab, str | Path):
        return _read_file(Path(collab), options, settings)
    if isinstance(collab, Collab):
        data = collab.model_dump(mode="json", exclude=_NEW, exclude_none=True)
    elif isinstance(collab, Mapping):
        data = {str(name): to_json(value, str(name)) for name, value in collab.items() if name not in _NEW}
        check_known(data, (*Collab.model_fields,))
    else:
        rule = "must be a Collab, a table of its fields, or the path of a session file"
        raise InvalidInput("collab", collab, rule)
    if "participants" not in data and isinstance(agents := options.get("agents"), Mapping):
        data["participants"] = [{"participant_id": name} for name in agents]
    resolver = FileResolver(read_table, read_schema, roots_of(Path(), settings.session_root))
    return resolver.resolve({**data, **options}, Path())


def _read_file(path: Path, options: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    file = SessionFile.open(str(path), root=settings.session_root)
    document = file.document()
    with file.name_file_in_errors():
        if ATTACHMENTS in document:
            raise InvalidInput(ATTACHMENTS, document[ATTACHMENTS], _ONLY_SUBMIT)
        has_inputs = FIELD in document

        def read(inner: Path) -> dict[str, Any]:
            # Its own inputs are filled in; what looks like one of this file is text.
            return escape_texts(read_table(inner)) if has_inputs else read_table(inner)

        resolver = FileResolver(
            read, read_schema, roots_of(path.parent, settings.session_root), (path.resolve(),)
        )
        whole = resolver.resolve(document, path.parent)
        own = escape_texts(options) if has_inputs else dict(options)
        if isinstance(agents := whole.get("agents"), Mapping) and isinstance(own.get("agents"), Mapping):
            own["agents"] = {**agents, **own["agents"]}
        return {**whole, **own}


def _check(document: Mapping[str, Any], inputs: Mapping[str, Any], previous: object) -> None:
    """Check a document as far as it is known before the step before has ended."""
    declared = {one.name: one for one in read_inputs(document)}
    for name in inputs:
        if name not in declared:
            raise InvalidInput(f"{FIELD}.{name}", inputs[name], "must be an input of the session file")
        declared[name].check(inputs[name], f"{FIELD}.{name}")
    if previous is not None and previous not in declared:
        raise InvalidInput(PREVIOUS, previous, "must be the name of an input of the session file")
    filled = dict(document)
    if filled.pop(FIELD, None) is not None:
        filled = fill_texts(filled, {name: inputs.get(name, "x") for name in declared})
    Submission.from_document(filled)


def read_step(
    session_id: str, results: tuple[Any, ...], document: object, inputs: object, previous: object
) -> Submission:
    """Return the submission of a step's session.

    Args:
        session_id: Its id.
        results: The result of the step before, if there is one.
        document: The document of the message.
        inputs: Values of its inputs.
        previous: Name of the input that the result becomes. None: a table gives the inputs of its names; another
            result is the last of the first messages, as text.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    if not isinstance(document, Mapping):
        raise InvalidInput(SESSION, document, "must be the document of a session")
    whole = {**document, "collab_id": session_id}
    declared = {one.name for one in read_inputs(whole)}
    values = dict(cast("Mapping[str, Any]", inputs or {}))
    for result in results:
        if previous is not None:
            values[str(previous)] = result if isinstance(result, bool | int | float) else _text(result)
        elif isinstance(result, Mapping) and declared.intersection(result):
            values |= {name: result[name] for name in declared.intersection(result)}
        elif text := _text(result):
            own = escape_texts({"messages": [text]})["messages"] if declared else [text]
            whole["messages"] = [*(whole.get("messages") or ()), *own]
    filled, used = fill_inputs(whole, values or None)
    return Submission.from_document(filled).model_copy(update={FIELD: used})


def _text(result: object) -> str:
    """Return the result of a step as text: that of a session is its last message."""
    if isinstance(result, str):
        return result
    if isinstance(result, Mapping) and "collab_id" in result and isinstance(result.get("text"), str):
        return str(result["text"])
    return "" if result is None else dump_json(cast("JsonValue", result))


def to_json(value: object, where: str) -> Any:
    """Return a value of an option as JSON data.

    Raises:
        InvalidInput: It is no JSON data.
    """
    if isinstance(value, Condition):
        return value.to_data()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, type) and issubclass(value, BaseModel):
        return value.model_json_schema()
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): to_json(item, f"{where}.{name}") for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise InvalidInput(where, value, "must be JSON data: other processes run the step")


def call_text(args: Any, kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return a message as JSON, without the options that belong to one sending."""
    kept = {}
    for name, value in options.items():
        if value is None or name in _OF_ONE_SENDING:
            continue
        try:
            dumps(value)
        except (TypeError, ValueError, EncodeError):
            continue
        kept[name] = value
    return str(dumps({"args": list(args or ()), "kwargs": dict(kwargs or {}), "options": kept}))
