"""The library modules of the scripts: each script gets those that it uses, and no others."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from mutants.mutator import name_uses
from mutants.running import script_names, text_of
from symposia.state.redis import scripts

FILES = script_names()
MODULES = [name for name in FILES if name.startswith("lib/")]
#: What Lua and Redis define.
GLOBALS = {
    "KEYS",
    "ARGV",
    "next",
    "redis",
    "select",
    "cjson",
    "string",
    "table",
    "math",
    "ipairs",
    "pairs",
    "tonumber",
    "unpack",
}


def field(name: str, key: str) -> list[str]:
    (line,) = re.findall(rf"^--- {key}:(.*)$", text_of(name), re.MULTILINE)
    return line.split()


def defined_by(module: str) -> list[str]:
    names = re.findall(r"^local (?:function )?(\w+)", text_of(module), re.MULTILINE)
    return [*names, "read_view_fields"] if module == "lib/view" else names


DEFINED = {name: module.removeprefix("lib/") for module in MODULES for name in defined_by(module)}


def free_names(name: str) -> set[str]:
    """The names that a file uses and does not declare."""
    uses = name_uses(text_of(name))
    own = {"read_view_fields"} if name == "lib/view" else set()
    if name not in MODULES:
        own |= {declared.removesuffix("*") for key in ("KEYS", "ARGV") for declared in field(name, key)}
    return uses.used - uses.declared - own - GLOBALS


def order(names: list[str]) -> list[str]:
    """Return the modules in the order of the assembled script."""
    return [
        re.match(r"(?:local function read_view_fields.*\n)?--- lib/(\w+):", text)[1]
        for text in scripts._library("a test", names)
    ]


@pytest.fixture
def library(monkeypatch):
    """Replace the files by some with these `USES` lines."""

    def replace(**uses: str) -> None:
        texts = {f"lib/{name}": f"--- lib/{name}: \n--- USES: {names}" for name, names in uses.items()}

        def read(name: str) -> str:
            if name not in texts:
                raise FileNotFoundError(name)
            return texts[name]

        monkeypatch.setattr(scripts, "_lua", read)

    return replace


@pytest.mark.parametrize("name", FILES)
def test_no_lua_name_is_undefined(name):
    assert free_names(name) <= DEFINED.keys()


@pytest.mark.parametrize("name", FILES)
def test_uses_lists_the_used_modules(name):
    assert sorted(field(name, "USES")) == sorted({DEFINED[used] for used in free_names(name)})


@pytest.mark.parametrize("name", MODULES)
def test_a_module_begins_with_its_name(name):
    assert text_of(name).startswith(f"--- {name}: ")


def test_no_name_is_defined_twice():
    counts = Counter(name for module in MODULES for name in defined_by(module))
    assert set(counts.values()) == {1}


def test_every_module_is_used():
    assert {used for name in FILES for used in field(name, "USES")} == set(DEFINED.values())


@pytest.mark.parametrize("name", [name for name in FILES if name not in MODULES])
def test_redis_compiles_a_script(client, name):
    script = scripts.load_script(name)
    assert client.script_load(script.text) == script.sha


def test_module_comes_once_after_its_dependencies(library):
    library(top="left right", left="base", right="left base", base="")
    assert order(["top", "base"]) == ["base", "left", "right", "top"]
    assert order(["base"]) == ["base"]
    assert order([]) == []


def test_an_unknown_module_is_refused(library):
    library(top="gone")
    with pytest.raises(ValueError, match=r"lib/top\.lua uses the unknown library module 'gone'"):
        order(["top"])
    with pytest.raises(ValueError, match=r"a test\.lua uses the unknown library module 'other'"):
        order(["other"])


def test_circular_dependency_is_refused(library):
    library(top="left", left="right", right="left", own="own")
    with pytest.raises(ValueError, match="in a circle: left -> right -> left"):
        order(["top"])
    with pytest.raises(ValueError, match="in a circle: own -> own"):
        order(["own"])


def test_names_of_a_script_are_parsed():
    uses = name_uses(
        "local a, b = first(x.y), { c = d } -- comment\n"
        "local function f(e, ...) return e[g] == 'text' end\n"
        "for i, j in ipairs(rest) do f(function(k) return k .. i end, { [l] = 1, m }) end\n"
    )
    assert uses.declared == {"a", "b", "f", "e", "i", "j", "k"}
    assert uses.used - uses.declared == {"first", "x", "d", "g", "ipairs", "rest", "l", "m"}
