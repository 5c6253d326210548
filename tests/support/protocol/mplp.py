"""The protocol's own files, to test against: schemas, examples, the golden flow."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator, FormatChecker
from referencing import Registry, Resource

ROOT = Path(__file__).parents[3]
HOME = Path(os.environ.get("SYMPOSIA_MPLP_DIR") or ROOT.parent / "shared" / "mplp")
SEEDS = Path(os.environ.get("SYMPOSIA_SEEDS_DIR") or ROOT.parent / "shared" / "seeds")
SCHEMAS = HOME / "schemas" / "v2"

#: All formats: those of draft-07 alone do not know `uuid`, which a schema here asks for.
FORMATS = FormatChecker()
# jsonschema passes any text for a format whose optional package is not installed.
assert {"date-time", "uuid"} <= set(FORMATS.checkers)

KINDS = {
    "collab": "mplp-collab.schema.json",
    "dialog": "mplp-dialog.schema.json",
    "map-event": "events/mplp-map-event.schema.json",
    "event": "common/events.schema.json",
    "meta": "common/metadata.schema.json",
    "trace": "common/trace-base.schema.json",
}


def document(path: str) -> Any:
    """A JSON or YAML file of the protocol, by its path inside it."""
    return yaml.safe_load((HOME / path).read_text("utf-8"))


def schema(kind: str) -> dict[str, Any]:
    return document(f"schemas/v2/{KINDS[kind]}")


def definition(kind: str, pointer: str) -> dict[str, Any]:
    """A part of a schema by its path of keys, e.g. `$defs/dialog_message_core`."""
    part = schema(kind)
    for key in filter(None, pointer.split("/")):
        part = part[key]
    return part


@cache
def _validator(kind: str, pointer: str) -> Draft7Validator:
    resources = [
        Resource.from_contents(json.loads(p.read_text("utf-8"))) for p in SCHEMAS.rglob("*.schema.json")
    ]
    registry = Registry().with_resources((resource.id(), resource) for resource in resources)
    reference = {"$ref": f"{schema(kind)['$id']}#{'/' if pointer else ''}{pointer}"}
    return Draft7Validator(reference, registry=registry, format_checker=FORMATS)


def validate(kind: str, data: object, *, pointer: str = "") -> None:
    """Raises jsonschema's ValidationError unless `data` is a valid `collab`, `dialog`, `map-event`, ..."""
    _validator(kind, pointer).validate(data)


def examples(seed: str) -> list[Any]:
    """The JSON blocks of a source document; the last one of the Dialog document has no closing fence."""
    text = next(SEEDS.glob(f"{seed}_*.txt")).read_text("utf-8")
    blocks = text.split("```json\n")[1:]
    return [json.JSONDecoder().raw_decode(block)[0] for block in blocks]
