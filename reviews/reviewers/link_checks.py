"""Links of documents: targets in the document and in the repository, labels, and addresses that cannot be right.

Nothing is read from the network. What files of the repository contradict is found where they are: `RepositoryFacts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..values.documents.document import Document, Remark
from ..values.documents.facts import RepositoryFacts

_PLAIN_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9 -]*")
#: More undefined labels than this are references that a generator of documentation resolves.
_MAX_UNDEFINED = 2
#: Addresses that begin almost as `http://`, twice, or with a host.
_BAD_ADDRESS = re.compile(
    r"(?!https?://[^/])h{0,2}t{1,3}p{1,2}s{0,2}(?:[:;]/*|//)\S|https?://https?(?::|//)|www\.[\w-]+\.[a-z]{2,}(?:/|$)",
    re.IGNORECASE,
)


def check_own_links(document: Document) -> Iterator[Remark]:
    """Yield links that cannot lead anywhere, by the document alone."""
    for link in document.links:
        anchor = link.target.removeprefix("#")
        if link.target.startswith("#") and not document.has_anchor(anchor):
            yield Remark(link.line, "dead-link", "medium", f"No heading matches #{anchor}.")
        elif _BAD_ADDRESS.match(link.target):
            yield Remark(link.line, "dead-link", "medium", f"{link.target} is no valid address.")
    for link in document.labels.unread:
        yield Remark(link.line, "broken-link", "medium", f"“{link.target}” is not read as a link.")
    for link in document.labels.redefined:
        message = f"The label [{link.target}] of a link has two targets."
        yield Remark(link.line, "duplicate-label", "medium", message)
    yield from _duplicate_anchors(document)
    yield from _undefined_labels(document)


def _duplicate_anchors(document: Document) -> Iterator[Remark]:
    """Yield anchors that the document has named before: links lead to the first one only."""
    first: dict[str, int] = {}
    for anchor in sorted(document.labels.anchors):
        if anchor.target in first:
            message = f"The anchor {anchor.target} is already in line {first[anchor.target]}."
            yield Remark(anchor.line, "duplicate-anchor", "medium", message)
        first.setdefault(anchor.target, anchor.line)


def _undefined_labels(document: Document) -> Iterator[Remark]:
    """Yield references to labels that the document does not define.

    If it defines fewer labels than it lacks, the labels are those of a generator of documentation.
    """
    labels = {link.target for link in document.labels.undefined}
    if len(labels) > min(document.labels.defined, _MAX_UNDEFINED):
        return
    for link in document.labels.undefined:
        if _PLAIN_LABEL.fullmatch(link.target):
            yield Remark(link.line, "dead-link", "medium", f"[{link.target}] is not defined.")


def check_repository(document: Document, facts: RepositoryFacts) -> Iterator[Remark]:
    """Yield what the repository contradicts, at each place where the document says it."""
    for link in document.links:
        if link.target in facts.missing_files:
            yield Remark(link.line, "dead-link", "medium", f"The file of {link.target} does not exist.")
        elif link.target in facts.missing_anchors:
            name, _, anchor = link.target.partition("#")
            yield Remark(link.line, "dead-link", "medium", f"No heading of {name} matches #{anchor}.")
    for code_word in document.code_words:
        if near := facts.misspelled.get(code_word.word):
            message = f"`{code_word.word}` is in no other file of the repository; did you mean `{near}`?"
            yield Remark(code_word.line, "misspelled-name", "low", message)
