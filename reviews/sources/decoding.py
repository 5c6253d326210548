"""Text of a file: its encoding, the cells of notebooks, and the language of scripts without a suffix. Pure.

Sources: PEP 263 for the encoding of Python files, nbformat 4 for notebooks.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ...models.text.numbered_lines import split_lines

#: Number of bytes at the beginning of a file that are checked; a zero byte means that it is not text.
_BINARY_CHECK_BYTES = 8_192
#: Byte order marks, the longer ones first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_SHEBANG = re.compile(r"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?(?:\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z]+)[\d.]*(?:\s|$)")
#: Suffixes of the languages of interpreters.
_SUFFIXES = {
    **dict.fromkeys(("python", "pypy"), ".py"),
    **dict.fromkeys(("sh", "dash", "bash", "ash"), ".sh"),
    "ksh": ".ksh",
    "node": ".js",
    "deno": ".ts",
    "perl": ".pl",
    "ruby": ".rb",
    "php": ".php",
}
#: Codecs that decode no text, or take time that grows with the square of its length.
_REFUSED_CODECS = frozenset({"undefined", "punycode", "idna"})
#: Commands of a notebook's shell, which are no Python.
_MAGIC = re.compile(r"^(\s*)([%!?].*)$")


class DecodedText(NamedTuple):
    """The text of a file, or why it has none."""

    text: str
    #: Why it has no text; empty: it has.
    reason: str = ""
    #: Suffix of its language, if its name does not end with it; empty: the name says it.
    suffix: str = ""


def decode_file(path: str, data: bytes) -> DecodedText:
    """Return the text of a file; of a notebook, the text of its cells."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    if not encoding and b"\0" in data[:_BINARY_CHECK_BYTES]:
        return DecodedText("", "binary")
    encoding = encoding or _declared_encoding(path, data)
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        start = f" from byte {error.start:,}" if isinstance(error, UnicodeDecodeError) else ""
        return DecodedText("", f"not {encoding.upper()}{start}")
    suffix = PurePosixPath(path).suffix.lower()
    if suffix == ".ipynb":
        return _read_notebook(text)
    return DecodedText(text, suffix="" if suffix else script_suffix(text))


def _declared_encoding(path: str, data: bytes) -> str:
    """Return the encoding that a Python file declares in its first two lines; UTF-8 without one."""
    lines = data.split(b"\n", 2)[:2] if path.endswith((".py", ".pyw")) else ()
    for line in lines:
        if match := _DECLARED.match(line):
            return _known_encoding(match[1].decode("ascii"))
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
    return "utf-8"


def _known_encoding(name: str) -> str:
    """Return the name of a text encoding; UTF-8 for others."""
    try:
        "".encode(name)  # of a codec that is no text encoding, such as `hex`, this raises LookupError
        codec = codecs.lookup(name).name
    except (LookupError, UnicodeError):
        return "utf-8"
    return "utf-8" if codec in _REFUSED_CODECS else codec


def script_suffix(text: str) -> str:
    """Return the suffix for the interpreter that the first line names; empty: none that is known."""
    match = _SHEBANG.match(text[:200])
    return _SUFFIXES.get(match[1], "") if match else ""


def _read_notebook(text: str) -> DecodedText:
    """Return the cells of a notebook as a script: texts as comments, without outputs."""
    try:
        notebook = json.loads(text)
        parts = list(_cells(notebook))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return DecodedText("", "not a notebook of nbformat 4")
    language = str((notebook.get("metadata") or {}).get("kernelspec", {}).get("language", "python"))
    return DecodedText("\n".join(parts), suffix={"python": ".py", "R": ".r"}.get(language, f".{language}"))


def _cells(notebook: Any) -> Iterator[str]:
    if not isinstance(notebook["cells"], list):
        raise TypeError
    for number, cell in enumerate(notebook["cells"], start=1):
        source = cell.get("source", "")
        lines = split_lines(source if isinstance(source, str) else "".join(source))
        if cell.get("cell_type") == "code":
            body = [_MAGIC.sub(r"\1# \2", line) for line in lines]
        else:
            body = [f"# {line}".rstrip() for line in lines]
        yield "\n".join([f"# %% cell {number} ({cell.get('cell_type', 'raw')})", *body, ""])
