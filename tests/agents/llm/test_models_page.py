"""Models: the tables of docs/models.md are read, and their agents have what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.pages import Page
from symposia.agents.registry.registry import Registry

PAGE = Page("docs/models.md")
PRICES = PAGE.take("toml", "[models.house]")
REQUEST = PAGE.take("text", "=== system")
ENDPOINTS = PAGE.take("toml", "[models.ollama]")


def load(folder: Path, text: str) -> Registry:
    path = folder / "agents.toml"
    agents = "".join(
        f'[agents.{name}]\nkind = "llm"\nmodel = "{name}"\n'
        for name in ("house", "ollama", "vllm", "proxy")
        if f"[models.{name}]" in text
    )
    path.write_text(f"{text}\n{agents}")
    return Registry.load(path, getenv={"VLLM_KEY": "v", "PROXY_KEY": "p"}.get)


@pytest.mark.parametrize("text", [PRICES, ENDPOINTS], ids=["prices", "endpoints"])
def test_tables_of_the_page_are_complete(tmp_path: Path, text: str) -> None:
    registry = load(tmp_path, text)
    assert [str(problem) for problem in registry.check()] == []
    assert registry.known().unpriced == frozenset()
    names = {name for name in registry.models() if name != "local"}
    assert (set(registry.model_sources()[0]) | {"local"}) >= names


def test_request_of_the_page_is_one_of_the_files() -> None:
    file = Path(__file__).parent / "prompts/plain/round_robin/last_round.txt"
    assert file.read_text(encoding="utf-8") == REQUEST
