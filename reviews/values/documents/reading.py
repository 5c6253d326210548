"""Reader of documents by their name, and the targets of their links."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath
from typing import NamedTuple
from urllib.parse import unquote

from .document import Document, Link
from .restructured import read_restructured

#: Ends of the names of documents.
DOCUMENT_SUFFIXES = (".md", ".markdown", ".rst", ".txt")
#: Ends of the names of files that a documentation is built from; others may exist only after it was built.
_SOURCE_SUFFIXES = (
    *(*DOCUMENT_SUFFIXES, ".py", ".pyi", ".toml", ".yml", ".yaml", ".json", ".cfg", ".ini", ".sh", ".ts"),
    *(".js", ".jsx", ".tsx", ".go", ".rs", ".java", ".c", ".h", ".cpp", ".png", ".jpg", ".jpeg", ".gif"),
    *(".svg", ".webp", ".ipynb"),
)


def read_document(text: str, *, path: str) -> Document:
    """Return a document: reStructuredText if the path ends with `.rst`, else Markdown."""
    if path.endswith(".rst"):
        return read_restructured(text)
    from .markdown import read_markdown  # imports the parser

    return read_markdown(text)


class RelativeLink(NamedTuple):
    """A link to a file of the same root."""

    link: Link
    #: Path of the file, relative to the root.
    path: str
    anchor: str


def relative_links(document: Document, *, path: str) -> Iterator[RelativeLink]:
    """Yield the links to files of the same root, as written in a document at `path`.

    Links to addresses, into the document, out of the root, to places of a web site, and to files that only
    exist after a build are left out.
    """
    folder = path.rpartition("/")[0]
    for link in document.links:
        target = link.target.strip()
        name, _, anchor = target.partition("#")
        name = name.partition("?")[0]
        if not name or name.startswith("/") or any(it in target for it in ":{}<>*$|\\\0"):
            continue
        found = normpath(f"{folder}/{unquote(name)}" if folder else unquote(name))
        if found.startswith("..") or not found.endswith(_SOURCE_SUFFIXES):
            continue
        yield RelativeLink(link, found, unquote(anchor))
