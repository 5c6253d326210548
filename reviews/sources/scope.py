"""Files that are not meant for review: generated and vendored ones, by name, first lines and `.gitattributes`. Pure.

A file that the user names is reviewed nevertheless. Source of the attributes: github-linguist, "Overrides".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from ..values.coverage import GENERATED, VENDORED

#: Attributes of git that say what a file is.
ATTRIBUTES = ("linguist-generated", "linguist-vendored")
#: Values with which an attribute is set, and with which it is unset: no other rule counts then.
_SET, _UNSET = ("set", "true"), ("unset", "false")
_LOCK_FILES = (
    "*.lock",
    "*-lock.json",
    "*-lock.yaml",
    "*.lockb",
    "npm-shrinkwrap.json",
    "go.sum",
    "packages.lock.json",
)
_GENERATED_NAMES = (
    *("*.min.js", "*.min.css", "*.map", "*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*.pb.go", "*.g.dart"),
    *("*.generated.*", "*_generated.*"),
)
_VENDOR_FOLDERS = frozenset(
    {"vendor", "third_party", "third-party", "bower_components", ".yarn", "site-packages"}
)
#: Characters at the beginning of a file that may say that it is generated.
_HEAD = 1_000
_MARKER = re.compile(
    r"@generated\b|\bgenerated\b.*\bdo not edit\b|\bdo not (?:edit|modify)\b.*\b(?:generated|automatically|by hand|manually)\b"
    r"|\b(?:auto-?|automatically )generated\b.*\bdo not (?:edit|modify|change)\b|^\W*do not edit\W*$",
    re.IGNORECASE | re.MULTILINE,
)
#: First characters of a line of comment.
_COMMENT = re.compile(r"^\s*(?:#|//|/?\*|--|;|<!--|%|\"\"\"|''')", re.MULTILINE)


def reason_by_name(path: str, attributes: Mapping[str, str]) -> str:
    """Return why a path is not reviewed; empty: it is. `attributes`: those of git, by name."""
    generated, vendored = (attributes.get(name, "") for name in ATTRIBUTES)
    if generated in _SET:
        return f"{GENERATED}: .gitattributes"
    if vendored in _SET:
        return f"{VENDORED}: .gitattributes"
    name = path.rpartition("/")[2]
    if generated not in _UNSET:
        if any(fnmatchcase(name, pattern) for pattern in _LOCK_FILES):
            return f"{GENERATED}: lock file"
        if any(fnmatchcase(name, pattern) for pattern in _GENERATED_NAMES):
            return f"{GENERATED}: by its name"
    is_vendored = not _VENDOR_FOLDERS.isdisjoint(path.split("/")[:-1])
    return f"{VENDORED}: by its folder" if is_vendored and vendored not in _UNSET else ""


def reason_by_text(text: str, attributes: Mapping[str, str]) -> str:
    """Return why a text is not reviewed; empty: it is. The mark must be in a comment of its first lines."""
    if attributes.get(ATTRIBUTES[0], "") in _UNSET:
        return ""
    head = text[:_HEAD]
    for match in _MARKER.finditer(head):
        line = head[head.rfind("\n", 0, match.start()) + 1 : match.end()]
        if _COMMENT.match(line):
            return f"{GENERATED}: its first lines say so"
    return ""
