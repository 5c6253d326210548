"""Documents compared with the files of their root."""

from __future__ import annotations

from pathlib import Path

import pytest

from symposia.reviews.panels import find_panel
from symposia.reviews.sources.document_facts import DocumentSource, source_of
from symposia.reviews.sources.files import FileSelection, FileSource
from symposia.reviews.values.documents.facts import RepositoryFacts
from symposia.reviews.values.runs import ReadItem


@pytest.fixture
def facts(tmp_path: Path):
    def facts(**files: str) -> dict[str, RepositoryFacts | None]:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_md", ".md").replace("_py", ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        source = source_of(
            tmp_path, FileSelection(include=("*.md",)), find_panel("document").with_model(None)
        )
        assert isinstance(source, DocumentSource)
        return {it.item.path: it.item.facts for it in source if isinstance(it, ReadItem)}

    return facts


def test_dead_links_and_anchors_are_found(facts) -> None:
    found = facts(
        docs__a_md="[1](b.md) [2](../c.md#part) [3](../c.md#no-part) ![4](p.png) [5](../../out.md) [6](x/) "
        "[7](https://a.example/x.md) [8](/site.md) [9](b.md?x=1)",
        c_md="# Part\n\nText.\n",
    )
    assert found["docs/a.md"] == RepositoryFacts(
        missing_files=("b.md", "p.png", "b.md?x=1"), missing_anchors=("../c.md#no-part",)
    )
    assert found["c.md"] is None


def test_misspelled_names_are_found(facts) -> None:
    found = facts(
        a_md="Set `max_atempts` of `Client` to `other_name`.\n\n```\nother_name\n```\n",
        changes_md="`max_atempts`",
        src__b_py="class Client:\n    max_attempts = 3\n",
    )
    assert found["a.md"] == RepositoryFacts(misspelled={"max_atempts": "max_attempts"})
    assert found["changes.md"] is None


def test_generated_parts_have_unknown_anchors(facts) -> None:
    found = facts(a_md="[1](b.md#pkg.Name)", b_md="# B\n\n::: pkg.Name\n")
    assert found["a.md"] is None


def test_only_panels_with_the_agent_compare(tmp_path: Path) -> None:
    source = source_of(tmp_path, FileSelection(), find_panel("code").with_model(None))
    assert isinstance(source, FileSource)
