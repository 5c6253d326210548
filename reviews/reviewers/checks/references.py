"""References: links to places and files that do not exist, and misspelled names of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...values.documents.document import Document
from ...values.documents.facts import RepositoryFacts
from .remark import Remark, line_at

_REFERENCE = re.compile(r"(?<![\w\]!\\])\[[^\[\]\n]+\]\[([^\[\]\n]+)\]")
_PLAIN_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9 -]*")
#: More undefined labels than this are references that a generator of documentation resolves.
_MAX_UNDEFINED = 2
_DEFINITION = re.compile(r"^\s{0,3}\[([^\]]+)\]:", re.MULTILINE)


def check_own_links(document: Document) -> Iterator[Remark]:
    """Yield links to missing places of the document, and to labels that it does not define."""
    for link in document.links:
        anchor = link.target.removeprefix("#")
        if link.target.startswith("#") and not document.has_anchor(anchor):
            yield Remark(link.line, "dead-link", "medium", f"No heading matches #{anchor}.")
    yield from _undefined_labels(document)


def _undefined_labels(document: Document) -> Iterator[Remark]:
    """Yield references to labels that the document does not define.

    If it defines fewer labels than it lacks, the labels are those of a generator of documentation.
    """
    texts = ((passage.line, passage.prose) for passage in document.passages)
    found = [
        (line_at(line, text, hit.start()), hit[1])
        for line, text in texts
        for hit in _REFERENCE.finditer(text)
    ]
    defined = set(map(str.casefold, _DEFINITION.findall(document.source)))
    if len({label for _, label in found}) > min(len(defined), _MAX_UNDEFINED):
        return
    for line, label in found:
        if _PLAIN_LABEL.fullmatch(label):
            yield Remark(line, "dead-link", "medium", f"[{label}] is not defined.")


def check_repository(document: Document, facts: RepositoryFacts) -> Iterator[Remark]:
    """Yield what the repository contradicts, at each place where the document says it."""
    for link in document.links:
        if link.target in facts.missing_files:
            yield Remark(link.line, "dead-link", "medium", f"The file of {link.target} does not exist.")
        elif link.target in facts.missing_anchors:
            name, _, anchor = link.target.partition("#")
            yield Remark(link.line, "dead-link", "medium", f"No heading of {name} matches #{anchor}.")
    for it in document.code_words:
        if near := facts.misspelled.get(it.word):
            message = f"`{it.word}` is in no other file of the repository; did you mean `{near}`?"
            yield Remark(it.line, "misspelled-name", "low", message)
