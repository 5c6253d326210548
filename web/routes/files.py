"""Routes of the session files that a caller may submit by name."""

from __future__ import annotations

from pydantic import JsonValue

from ...config.settings import Settings
from ...models.errors import InvalidInput
from ...models.sessions.inputs import InputType, SessionInput
from ..answers import Answer
from ..context import ContextDep, Reader
from ..routing import api_router
from ..submissions import open_file

router = api_router("files")


class InputData(Answer):
    """An input of a session file."""

    name: str
    type: str
    required: bool
    default: JsonValue
    description: str
    choices: list[JsonValue]

    @classmethod
    def of(cls, declared: SessionInput) -> InputData:
        """Return the data of an input."""
        return cls(
            name=declared.name,
            type=declared.type.value,
            required=declared.default is None,
            default=declared.default,
            description=declared.help,
            choices=list(declared.choices),
        )


class FileData(Answer):
    """A session file of the setting `jobs`."""

    name: str
    title: str
    description: str
    inputs: list[InputData]
    #: JSON schema of `inputs` of a submission.
    input_schema: dict[str, JsonValue]


def read_file(name: str, settings: Settings) -> FileData:
    """Return a session file. It reads the file.

    Raises:
        InvalidInput: No session file has this name, or it breaks a rule.
    """
    file = open_file(name, settings)
    document, inputs = file.document(), file.inputs()
    return FileData(
        name=name,
        title=str(document.get("title") or name),
        description=str(document.get("purpose") or ""),
        inputs=[InputData.of(declared) for declared in inputs],
        input_schema=input_schema(inputs),
    )


def input_schema(inputs: tuple[SessionInput, ...]) -> dict[str, JsonValue]:
    """Return the JSON schema of the values of inputs."""
    properties: dict[str, JsonValue] = {}
    for declared in inputs:
        schema: dict[str, JsonValue] = {"type": declared.type.value}
        if declared.help:
            schema["description"] = declared.help
        if declared.choices:
            schema["enum"] = list(declared.choices)
        if declared.default is not None:
            schema["default"] = declared.default
        if declared.type is InputType.STRING:
            schema["maxLength"] = 32_768
        properties[declared.name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": [declared.name for declared in inputs if declared.default is None],
        "additionalProperties": False,
    }


def read_files(settings: Settings) -> list[FileData]:
    """Return all session files, without those that cannot be read."""
    files = []
    for name in sorted(settings.jobs):
        try:
            files.append(read_file(name, settings))
        except InvalidInput:  # `symposia doctor` reports it
            continue
    return files


@router.get("/files")
async def get_files(context: ContextDep, _: Reader) -> list[FileData]:
    """Return the session files of the server, by name."""
    return await context.client.run(read_files, context.settings)


@router.get("/files/{name}")
async def get_file(name: str, context: ContextDep, _: Reader) -> FileData:
    """Return a session file of the server with its inputs."""
    return await context.client.run(read_file, name, context.settings)
