"""Comparison of documents with the files of their root: dead links, missing anchors, misspelled names.

Reviewers get a document and no file, so the differences are found where the files are, and sent with the
item. Only files below the root are read, within the limits of sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path

from ..values.documents.document import Document
from ..values.documents.facts import MAX_FACTS, Names, RepositoryFacts
from ..values.documents.reading import DOCUMENT_SUFFIXES, read_document, relative_links
from ..values.panels import Panel
from ..values.runs import ItemKind, ReadItem, SkippedItem
from .files import FileSelection, FileSource
from .sandboxed_folder import SandboxedFolder
from .source import SourceLimits

#: Agent that reports the differences.
FACTS_AGENT = "facts"


#: Names of documents about the past, which name what no longer exists.
_HISTORY = re.compile(r"change|history|release|news|migrat|upgrad", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """Source whose documents carry their differences from the files below `folder`."""

    folder: Path
    items: Iterable[ReadItem | SkippedItem]

    def __iter__(self) -> Iterator[ReadItem | SkippedItem]:
        """Yield the items of the source. Raises InvalidInput, as the source."""
        with SandboxedFolder(self.folder) as root:
            comparison = _Comparison(self.folder, root)
            for entry in self.items:
                is_document = isinstance(entry, ReadItem) and entry.item.path.endswith(DOCUMENT_SUFFIXES)
                if isinstance(entry, ReadItem) and is_document and entry.item.kind is not ItemKind.DELETED:
                    facts = comparison.facts(entry.text, path=entry.item.path)
                    yield entry.with_facts(facts)
                else:
                    yield entry


def source_of(folder: Path, selection: FileSelection, panel: Panel) -> DocumentSource | FileSource:
    """Return the files of a root as a source; with a comparison if the panel reports differences."""
    files = FileSource(folder, selection)
    return DocumentSource(folder, files) if FACTS_AGENT in panel.agents else files


class _Comparison:
    """Comparison of documents with the files of one root."""

    def __init__(self, folder: Path, root: SandboxedFolder) -> None:
        self._folder = folder
        self._root = root
        self._other = lru_cache(maxsize=1_000)(self._read)

    def facts(self, text: str, *, path: str) -> RepositoryFacts:
        """Return the differences between a document and the root."""
        document = read_document(text, path=path)
        files, anchors = dict[str, None](), dict[str, None]()
        for link, target, anchor in relative_links(document, path=path):
            if not self._root.exists(target):
                files[link.target] = None
            elif anchor and target.endswith(DOCUMENT_SUFFIXES):
                other = self._other(target)
                if other is not None and not other.has_anchor(anchor):
                    anchors[link.target] = None
        words = [code_word.word for code_word in document.code_words]
        is_history = _HISTORY.search(path.rpartition("/")[2]) is not None
        misspelled = islice(self._names.misspelled(words), MAX_FACTS) if words and not is_history else ()
        return RepositoryFacts(
            missing_files=tuple(files)[:MAX_FACTS],
            missing_anchors=tuple(anchors)[:MAX_FACTS],
            misspelled=dict(misspelled),
        )

    @cached_property
    def _names(self) -> Names:
        """Return the names in all files of the root; of documents, only those in blocks of code."""
        names = Names()
        for entry in FileSource(self._folder, FileSelection(), SourceLimits()):
            path = entry.item.path if isinstance(entry, ReadItem) else entry.path
            names.add(path)
            if isinstance(entry, ReadItem):
                is_document = path.endswith(DOCUMENT_SUFFIXES)
                names.add(read_document(entry.text, path=path).code if is_document else entry.text)
        return names

    def _read(self, path: str) -> Document | None:
        data = self._root.read(path, limit=SourceLimits().item_bytes)
        if isinstance(data, SkippedItem):
            return None
        return read_document(data.decode(errors="replace"), path=path)
