"""What of SARIF 2.1.0 a report uses, with the rules of code scanning, as a schema that takes nothing else.

Each part says what the standard's own schema and GitHub's page "SARIF support for code scanning" say of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jsonschema import FormatChecker, validators


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _many(items: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


_TEXT = {"type": "string"}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_TIME = {"type": "string", "format": "date-time"}
_LINE = {"type": "integer", "minimum": 1}
_BAG = {"type": "object"}
_MESSAGE = _object("text", text={"type": "string", "minLength": 1})
_ARTIFACT = _object(
    "uri",
    uri={"type": "string", "pattern": r"^[A-Za-z0-9._~/%-]+$", "not": {"pattern": r"^/|%(?![0-9A-F]{2})"}},
)
_REGION = _object("startLine", startLine=_LINE, startColumn=_LINE, endLine=_LINE, endColumn=_LINE)
_PLACE = _object(
    "artifactLocation",
    artifactLocation=_ARTIFACT,
    region=_REGION,
)
_LOCATIONS = _many(_object("physicalLocation", physicalLocation=_PLACE), minItems=1, maxItems=20)
_RESULT_PLACE = _object("artifactLocation region", artifactLocation=_ARTIFACT, region=_REGION)
_FIX = _object(
    "description artifactChanges",
    description=_MESSAGE,
    artifactChanges=_many(
        _object(
            "artifactLocation replacements",
            artifactLocation=_ARTIFACT,
            replacements=_many(
                _object(
                    "deletedRegion insertedContent",
                    deletedRegion=_REGION,
                    insertedContent=_object("text", text=_TEXT),
                ),
                minItems=1,
            ),
        ),
        minItems=1,
    ),
)
_RESULT = _object(
    "ruleId ruleIndex level message locations partialFingerprints",
    ruleId={"type": "string", "minLength": 1},
    ruleIndex={"type": "integer", "minimum": 0},
    level=_LEVEL,
    message=_MESSAGE,
    locations=_many(_object("physicalLocation", physicalLocation=_RESULT_PLACE), minItems=1, maxItems=1),
    partialFingerprints={
        "type": "object",
        "additionalProperties": _TEXT,
        "required": ["primaryLocationLineHash"],
    },
    fixes=_many(_FIX, minItems=1, maxItems=1),
    baselineState={"enum": ["new", "unchanged", "updated", "absent"]},
    suppressions=_many(
        _object("kind", kind={"enum": ["inSource", "external"]}, justification=_TEXT), uniqueItems=True
    ),
    properties=_BAG,
)
_DESCRIPTION = _object("text", text={"type": "string", "minLength": 1, "maxLength": 1_024})
_RULE = _object(
    "id name shortDescription fullDescription help defaultConfiguration",
    id={"type": "string", "minLength": 1},
    name={"type": "string", "minLength": 1, "maxLength": 255},
    shortDescription=_DESCRIPTION,
    fullDescription=_DESCRIPTION,
    help=_object(
        "text markdown", text={"type": "string", "minLength": 1}, markdown={"type": "string", "minLength": 1}
    ),
    helpUri={"type": "string", "format": "uri"},
    defaultConfiguration=_object("level", level=_LEVEL),
    properties={
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": _TEXT, "maxItems": 10},
            "precision": {"enum": ["very-high", "high", "medium", "low"]},
            "problem.severity": {"enum": ["error", "warning", "recommendation"]},
            "security-severity": {"type": "string", "pattern": r"^(10\.0|\d\.\d)$"},
        },
    },
)
_INVOCATION = _object(
    "executionSuccessful",
    executionSuccessful={"type": "boolean"},
    startTimeUtc=_TIME,
    endTimeUtc=_TIME,
    toolExecutionNotifications=_many(
        _object("message", level=_LEVEL, message=_MESSAGE, locations=_LOCATIONS), minItems=1
    ),
)
_RUN = _object(
    "tool results",
    tool=_object(
        "driver",
        driver=_object(
            "name", name=_TEXT, version=_TEXT, rules=_many(_RULE, uniqueItems=True, maxItems=25_000)
        ),
    ),
    automationDetails=_object("id", id=_TEXT),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=_many(_INVOCATION, minItems=1),
    results=_many(_RESULT, maxItems=25_000),
    versionControlProvenance=_many(
        _object("repositoryUri", repositoryUri={"type": "string", "format": "uri"}, revisionId=_TEXT),
        minItems=1,
    ),
    properties=_BAG,
)
SUBSET = _object(
    "version runs",
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"enum": ["2.1.0"]},
    runs=_many(_RUN),
)


def faults(log: str, schema: Mapping[str, Any] = SUBSET) -> list[str]:
    """What is wrong with a SARIF log, by the subset or by another schema."""
    validator = validators.validator_for(schema)(schema, format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(json.loads(log))]
