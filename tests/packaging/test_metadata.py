"""The metadata of a wheel: with the address of the project, its links are absolute; without, it has no addresses."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from packaging.metadata import Metadata

from distributions import ROOT, build_wheel, copy_sources

ADDRESS = "https://git.example.org/team/symposia"
README = (ROOT / "README.md").read_text()
MARKDOWN = MarkdownIt("commonmark").enable("table")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_sources(tmp_path_factory.mktemp("source") / "symposia")


def read_metadata(source: Path, target: Path) -> Metadata:
    """Build a wheel and validate its metadata as a package index does."""
    with zipfile.ZipFile(build_wheel(source, target)) as wheel:
        (name,) = [it for it in wheel.namelist() if it.endswith(".dist-info/METADATA")]
        return Metadata.from_email(wheel.read(name), validate=True)


def links(text: str) -> list[str]:
    parts = [part for block in MARKDOWN.parse(text) for part in block.children or ()]
    found = [part.attrGet("href") or part.attrGet("src") for part in parts]
    return [str(target) for target in found if target is not None]


def code(text: str) -> list[str]:
    """The blocks and spans of code of a text."""
    blocks = MARKDOWN.parse(text)
    parts = [part for block in blocks for part in [block, *(block.children or ())]]
    return [part.content for part in parts if part.type in {"fence", "code_inline"}]


@pytest.mark.long
def test_address_of_the_project_is_in_the_metadata(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIA_PROJECT_URL", f"{ADDRESS}/")
    metadata = read_metadata(source, tmp_path)
    assert metadata.project_urls == {
        "Homepage": ADDRESS,
        "Documentation": f"{ADDRESS}/blob/v{metadata.version}/README.md#documentation",
        "Source": ADDRESS,
        "Changelog": f"{ADDRESS}/blob/v{metadata.version}/CHANGELOG.md",
    }
    assert metadata.description_content_type == "text/markdown"
    description = metadata.description or ""
    assert len(links(description)) == len(links(README))
    assert [link for link in links(description) if not link.startswith(("http://", "https://"))] == []
    assert code(description) == code(README)
    own = [link for link in [*links(description), *metadata.project_urls.values()] if ADDRESS in link]
    assert [link for link in own if not is_file_of_the_version(link, str(metadata.version))] == [ADDRESS] * 2


def is_file_of_the_version(link: str, version: str) -> bool:
    """Whether a link names an existing file, as a page or, for pictures, as the file itself."""
    found = re.fullmatch(rf"{ADDRESS}/(blob|raw)/v{re.escape(version)}/([^#]+)(#.+)?", link)
    return found is not None and (ROOT / found[2]).exists() and (found[1] == "raw") == (".png" in found[2])


@pytest.mark.long
def test_without_address_nothing_is_said_of_it(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SYMPOSIA_PROJECT_URL", raising=False)
    metadata = read_metadata(source, tmp_path)
    assert not metadata.project_urls
    assert metadata.home_page is None
    assert (metadata.description or "").strip() == README.strip()


@pytest.mark.long
@pytest.mark.parametrize("address", ["git.example.org/team", "ftp://git.example.org", "https://a b"])
def test_invalid_address_ends_the_build(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("SYMPOSIA_PROJECT_URL", address)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        build_wheel(source, tmp_path)
    assert b"SYMPOSIA_PROJECT_URL must be an http(s) address" in failed.value.stderr
