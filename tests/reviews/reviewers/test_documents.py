"""Documents reviewed by rules: what they find, where, and what they leave alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.protocol.dialog import Message, Role
from symposia.reviews.reviewers.code import fence_text
from symposia.reviews.reviewers.documents import check_headings, clarity, consistency, facts
from symposia.reviews.reviewers.english import check_grammar
from symposia.reviews.reviewers.link_checks import check_own_links, check_repository
from symposia.reviews.reviewers.text_checks import (
    LONG_SENTENCE,
    check_dates,
    check_numbers,
    check_repeated_words,
    check_sentences,
    check_spellings,
    check_unfinished,
)
from symposia.reviews.values.documents.facts import RepositoryFacts
from symposia.reviews.values.documents.reading import read_document

CHECKS = (
    *(check_sentences, check_repeated_words, check_grammar, check_unfinished),
    *(check_spellings, check_headings, check_numbers),
    *(check_dates, check_own_links),
)


def remarks_of(document, known=RepositoryFacts()):  # noqa: B008 - frozen
    return [it for check in CHECKS for it in check(document)] + [*check_repository(document, known)]


@pytest.fixture
def found(turn):
    def found(agent, text, path="a.md", **known):
        opening = Message(role=Role.USER, content=fence_text(text, "markdown"))
        said = agent(turn(messages=[opening], parameters={"review": {"path": path, "facts": known}}))
        return [(it["line"], it["rule"]) for it in json.loads(said)["findings"]]

    return found


@pytest.mark.parametrize(
    ("agent", "text", "expected"),
    [
        (clarity, "All is well.\n\nIt is is not.\n", [(3, "doubled-word")]),
        (clarity, "One\nline of the\nthe other.", [(2, "doubled-word")]),
        (clarity, "The the end.\n", [(1, "doubled-word")]),
        (clarity, "He had had enough. Duran Duran, an OR or two.\n", []),
        (clarity, 'The release "tap tap tap".\n', []),
        (clarity, "Read `the` the `x` `x` way, as in the.the file.\n", []),
        (clarity, "Short.\n\n" + "one two " * LONG_SENTENCE + "end.\n", [(3, "long-sentence")]),
        (clarity, "- TODO: write this\n", [(1, "unfinished")]),
        (clarity, "```\nTODO the the\n```\n\n`the the`\n\n    the the\n", []),
        (clarity, "---\ntitle: the the\n---\n\n<!-- the the -->\n", []),
        (clarity, "one two " * 5 + "\n\n" + ("Some words here. " * 90), [(3, "long-paragraph")]),
        (
            clarity,
            "An flag and a environment.\nHave a unexpected day.",
            [(1, "grammar"), (1, "grammar"), (2, "grammar")],
        ),
        (
            clarity,
            "An hour, an SQL, an sql, an `x`, a user, a one-off, a union, an faq. From a onto b, or a and `b`. The A record, the a priori rule.\n",
            [],
        ),
        (
            clarity,
            "It is longer then the text.\nIt could of been. Could of course. More that one way.\n",
            [(1, "grammar"), (2, "grammar"), (2, "grammar")],
        ),
        (
            clarity,
            "It does not supports the form; it does not pass the rest. Less, then in.\n",
            [(1, "grammar")],
        ),
        (clarity, "Une a été a entre. " * 20, []),
        (clarity, "Ce projet a un an de retard.\n\nAn den Support. An este proyecto.\n", []),
        (clarity, "If the list is longer then the rest is dropped. Node a emits an event.\n", []),
        (clarity, "Add the a key, for the might of the empire. Others must of course.\n", []),
        (
            clarity,
            "Is that so? If not.\nIt is longer then the text.\nThey might of a alias.\n",
            [(2, "grammar"), (3, "grammar"), (3, "grammar")],
        ),
        (consistency, "The colour of it.\nColor and color.\n", [(1, "two-spellings")]),
        (consistency, "Your e-mail. An email, and an email.\n", [(1, "two-spellings")]),
        (consistency, "four times for your hour and the floor\n", []),
        (consistency, "# One\n\n### Three\n\nText.\n", [(3, "skipped-level")]),
        (consistency, "# A\n\n## B\n\nx\n\n## b\n\nx\n", [(7, "duplicate-heading")]),
        (consistency, "# A\n\n## 1.1\n\n### Added\n\nx\n\n## 1.0\n\n### Added\n\nx\n", []),
        (consistency, "# A\n\n## B\n\n## C\n\nText.\n", [(3, "empty-heading")]),
        (consistency, "# A\n\n## B\n\n### C\n\nText.\n\n##\n\nText.\n", [(9, "empty-heading")]),
        (consistency, "# A\n\n## [Unreleased]\n\n## 1.0\n\n```\nx\n```\n", []),
        (consistency, "The timeout is 30 s.\n\nText. The timeout is 60 s.\n", [(3, "contradiction")]),
        (consistency, "`wait` (default 30) or\n`wait` (default: 60).\n", [(2, "contradiction")]),
        (consistency, "The timeout is 30 s.\n\nThe timeout is 30 s. The timeout is 60 s for reads.\n", []),
        (consistency, "The limit is 30 s.\n\nThe limit is 60 items.\n", []),
        (consistency, "# A\n\n`wait` (default 30).\n\n# B\n\n`wait` (default 60).\n", []),
        (consistency, "It is 30. It is 60. The result is 1. The result is 2.\n", []),
        (facts, "On 2023-02-29 it began; on 2024-02-29 it ended.\n", [(1, "no-such-date")]),
        (
            facts,
            "Due on 31 June 2023, not on\nFebruary 30, 2024.\n",
            [(1, "no-such-date"), (2, "no-such-date")],
        ),
        (facts, "On Monday, 3 March 2025 and Tuesday, 3 March 2025.\n", [(1, "no-such-date")]),
        (facts, "Call 555-2023-02-30, see 2023-13-45x and `2023-02-30`.\n", []),
        (facts, "# Big words\n\n[a](#big-words) [b](#no-words)\n", [(3, "dead-link")]),
        (facts, "# A `b`_c: d & e {#own}\n\n[a](#own) [b](#a-b_c-d--e) [c](#a-b_c-d-e) [d](#top)\n", []),
        (facts, '# A\n\n# A\n\n[a](#a-1) [b](#a_1) [c](#x)\n\n<a name="x"></a>\n', []),
        (facts, "See [this][one] and [that][two].\n\n[one]: http://localhost\n", [(1, "dead-link")]),
        (
            facts,
            "[a](htp://a.example) <a href='https://https://b'>b</a> [c](www.c.example/x)\n",
            [(1, "dead-link")] * 3,
        ),
        (facts, "[a](http://a.example) [b](http.md) [c](https://web.example/https://c)\n", []),
        (
            facts,
            "[a] (https://a.example) and (b)[https://b.example], [1] (https://c.example).\n",
            [(1, "broken-link")] * 2,
        ),
        (facts, "`[a] (https://a.example)` [{{ x }}](#{{ x }})\n", []),
        (facts, "- [Windows] (#1234) fix\n- cmd [file] (/etc/x)\n", []),
        (facts, "\\[text\\](https://x.example) &#91;b&#93;(https://x.example)\n\n[a]: http://a\n", []),
        (facts, "\\[a\\]\\[b\\] [a](x)\n\n[a]: http://a\n", []),
        (facts, "a &#10; b `c`\n\nOn 2023-02-29.\n", [(3, "no-such-date")]),
        (facts, '<p>\n<!-- <a id="x"> <a href="#y"> -->\n<a id="x" data-href="#z"></a>\n</p>\n', []),
        (facts, '<p id="x" data-id="y">\n<!--\n-->\n<b id="y"></b>\n<b id="x">\n', [(5, "duplicate-anchor")]),
        (
            facts,
            "[a] [b]\n\n[a]: http://a\n[a]: http://a\n[b]: http://b\n[B]: http://c\n",
            [(6, "duplicate-label")],
        ),
        (facts, "[unused]: #none\n", [(1, "dead-link")]),
        (facts, '<a id="x"></a>\n\n# A {#x}\n\n```html\n<p id="x">\n```\n', [(3, "duplicate-anchor")]),
        (facts, "See [`A`][pkg.A], [b][b] and [c][c].\n\n[one]: http://localhost\n", []),
    ],
)
def test_document_findings_have_their_lines(found, agent, text, expected):
    assert found(agent, text) == expected


@pytest.mark.parametrize(
    ("agent", "text", "expected"),
    [
        (clarity, "Title\n=====\n\nIt is is not.\n\n::\n\n    the the\n", [(4, "doubled-word")]),
        (
            facts,
            ".. _a\n\n`b <https://b.example>` [c](https://c.example)\n",
            [(1, "broken-link"), (3, "broken-link"), (3, "broken-link")],
        ),
        (
            facts,
            "`a`_ `b`_ `c d`_\n\n.. _a: htp://a\n\nC  d\n====\n\nText.\n",
            [(1, "dead-link"), (3, "dead-link")],
        ),
        (
            facts,
            ".. _a: http://a\n.. _a: http://b\n.. _c:\n.. _c:\n",
            [(2, "duplicate-label"), (4, "duplicate-anchor")],
        ),
        (
            facts,
            "`a <http://a>`_ `b <http://b>`__ ``c <http://c>`` :ref:`d <http://d>`\n\n::\n\n    [e](http://e)\n",
            [],
        ),
        (
            facts,
            "`a`_ `b`_ `c d`_ `e`_\n\n.. _z: http://z\n\nAn _`a`.\n\n.. image:: x\n   :name: b\n\n.. note::\n\n   .. _c  d:\n",
            [(1, "dead-link")],
        ),
        (facts, ".. _a: http://a\n\n::\n\n    .. _a: htp://b\n    .. _c:\n\n.. _c:\n", []),
        (clarity, ".. note::\n   the the\n\n``the the`` and :ref:`the the`.\n", []),
        (consistency, "A\n=\n\nB\n-\n\nC\n-\n\nText.\n", []),
        (consistency, "Aaa\n===\n\nBbb\n---\n\nCcc\n---\n\nText.\n", [(4, "empty-heading")]),
        (consistency, "Aaa\n===\n\nx\n\nBbb\n---\n\nx\n\nBbb\n---\n\nx\n", [(11, "duplicate-heading")]),
        (consistency, "===\nAaa\n===\n\nBbb\n===\n\nText.\n\n.. _x:\n\nCcc\n===\n\n.. toctree::\n", []),
    ],
)
def test_restructured_text_is_read(found, agent, text, expected):
    assert found(agent, text, path="docs/a.rst") == expected


def test_differences_from_the_repository_have_their_lines(found):
    text = "[a](x.md)\n[b](y.md#z)\n![c](p.png)\n\n`retires` and `retries`\n"
    known = {
        "missing_files": ["x.md", "p.png"],
        "missing_anchors": ["y.md#z"],
        "misspelled": {"retires": "retries"},
    }
    assert found(facts, text, **known) == [
        (1, "dead-link"),
        (2, "dead-link"),
        (3, "dead-link"),
        (5, "misspelled-name"),
    ]


def test_reviewer_passes_without_a_document(turn, message):
    assert clarity(turn(messages=[Message(role=Role.USER, content="Have you begun?")])) is None
    assert clarity(turn(messages=[message("bob", fence_text("the the"))])) is None


MARKUP = st.text(alphabet="abthe TODO#*_`[]()<>!|-=~:.\\{}\n\t0123456789&\"'\r\u2028\x00") | st.text()
KNOWN = RepositoryFacts(missing_files=("a",), missing_anchors=("b#a",), misspelled={"the": "then"})


@given(MARKUP, st.sampled_from(["a.md", "a.rst", "a.txt", ""]))
def test_findings_of_any_text_are_on_its_lines(text, path):
    document = read_document(text, path=path)
    lines = text.count("\n") + 1
    for remark in remarks_of(document, KNOWN):
        assert 1 <= remark.line <= lines
        assert remark.message


WORDS = st.lists(
    st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon"]), min_size=1, max_size=4, unique=True
)


@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=6, unique=True))
def test_plain_documents_have_no_findings(titles):
    parts = [f"## {title}\n\nSee [{title}](#{title.replace(' ', '-')}).\n" for title in titles]
    document = read_document("# Title\n\n" + "\n".join(parts), path="a.md")
    assert remarks_of(document) == []


@given(st.integers(0, 30), WORDS)
def test_repeated_word_is_found_in_any_line(above, words):
    text = "Text.\n" * above + "\n" + " ".join([*words, words[-1]]) + "\n"
    document = read_document(text, path="a.md")
    remarks = remarks_of(document)
    assert [(it.line, it.rule) for it in remarks] == [(above + 2, "doubled-word")]
