"""The reviewer `codespell`: misspelled words of documents, by the program codespell and its list of known misspellings.

    python -m symposia.agents.reviewers.spelling codespell

It reads a turn as JSON on standard input. codespell is run on the prose of the item: without code, HTML and the targets
of links. Its list is about English, so documents in other languages are left out, and so are names: words with a capital
letter inside a sentence or in front of another name, and words that the document has as code.

Each turn starts a process, so this module imports nothing that is slow to import.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice

from ..values.documents.document import CODE_MARK, Document
from ..values.documents.reading import read_document
from .code import Turn
from .english import is_english
from .program import FILE, answer_with, item_of, run_on_file
from .text_checks import sentence_words

#: Options: only words that are always wrong, and none in addresses.
_OPTIONS = ("--disable-colors", "--builtin=clear", "--uri-ignore-words-list=*", FILE)
_OUTPUT = re.compile(r"^\./text\.txt:(\d+): (\S+) ==> ([^|\n]+)", re.MULTILINE)
_IDENTIFIER = re.compile(r"[^\W_]+")
#: Maximum number of corrections to name.
MAX_CORRECTIONS = 3
#: Maximum findings, and letters of a replacement: those of `values.answers`, which is slow to import.
MAX_FINDINGS, MAX_REPLACEMENT = 500, 8_000


def review_spelling(turn: Turn, program: str = "codespell") -> str:
    """Return the misspelled words of the item of a turn, as JSON; `PASS` without an item.

    Raises:
        RuntimeError: codespell cannot be run, or failed.
    """
    item = item_of(turn)
    if item is None:
        return "PASS"
    path, text = item[0], re.sub(r"\r\n?", "\n", item[1])
    document = read_document(text, path=path)
    if not is_english(document):
        return answer_with("codespell", [])
    done = run_on_file((program, *_OPTIONS), "text.txt", _prose(document))
    output = done.stdout.decode(errors="replace")
    # The exit code of misspelled words differs by release, that of other releases means a failure.
    if done.returncode < 0 or (done.returncode and not _OUTPUT.search(output)):
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise RuntimeError(f"codespell failed with exit code {done.returncode}: {last}")
    findings = _findings(document, text, output)
    first = list(islice(findings, MAX_FINDINGS))
    return answer_with("codespell", first, left_out=sum(1 for _ in findings))


def _prose(document: Document) -> str:
    """Return the prose of a document, each line at its number."""
    lines = [list[str]() for _ in range(document.source.count("\n") + 1)]
    for passage in document.passages:
        for number, line in enumerate(passage.prose.replace(CODE_MARK, " ").split("\n"), passage.line):
            lines[number - 1] += [
                "",
                *line.splitlines(),
            ]  # codespell may split lines at other signs than "\n"
    return "\n".join(map(" ".join, lines))


def _findings(document: Document, text: str, output: str) -> Iterator[dict[str, object]]:
    """Yield the misspelled words in an output of codespell, each once a line."""
    lines = text.split("\n")
    words = set(sentence_words(document.passages))
    code = "\n".join([document.code, *(code_word.word for code_word in document.code_words)])
    names = {name.lower() for name in _IDENTIFIER.findall(code)}
    for number, word, listed in dict.fromkeys(_OUTPUT.findall(output)):
        line = lines[int(number) - 1]
        corrections = [correction.strip() for correction in listed.split(",") if correction.strip()]
        is_word = (word.lower(), int(number)) in words and word.lower() not in names
        if not is_word or _is_name(word, line) or _is_meant(word, corrections, line):
            continue
        choice = " or ".join(f"“{correction}”" for correction in corrections[:MAX_CORRECTIONS])
        finding: dict[str, object] = {
            "line": int(number),
            "rule": "misspelling",
            "severity": "low",
            "message": f"“{word}” is misspelled.",
            "suggestion": f"Write {choice}.",
            "confidence": 1.0,
        }
        places = list(re.finditer(rf"\b{re.escape(word)}\b", line))
        if len(corrections) == 1 and len(places) == 1 and len(line) <= MAX_REPLACEMENT:
            start, end = places[0].span()
            finding["replacement"] = f"{line[:start]}{corrections[0]}{line[end:]}"
        yield finding


def _is_name(word: str, line: str) -> bool:
    """Return whether a word has a capital letter, and no word in lower case after it."""
    return word[0].isupper() and re.search(rf"\b{re.escape(word)}\s+[a-z]", line) is None


def _is_meant(word: str, corrections: Sequence[str], line: str) -> bool:
    """Return whether a word is in quotes, all of a link, next to its correction, or only has a hyphen more."""
    is_quoted = re.search(rf"[\"'\u201c\u2018\[]{re.escape(word)}[\"'\u201d\u2019\]]", line) is not None
    is_hyphen = word.replace("-", "") in corrections
    return is_quoted or is_hyphen or any(re.search(rf"\b{re.escape(each)}\b", line) for each in corrections)


def main() -> None:
    """Review the turn on standard input; exit with 1 if that is not possible."""
    try:
        print(review_spelling(json.load(sys.stdin), *sys.argv[1:2]))  # noqa: T201 - the output of the program
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
