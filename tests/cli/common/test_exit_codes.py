"""Exit codes of commands."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest
import typer
from pydantic_core import SchemaError

from symposia.cli import app, main


class Strikes:
    """Ctrl-C while a class is made, and while a module is looked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        signal.raise_signal(signal.SIGINT)

    def find_spec(self, *_: object) -> NoReturn:
        raise KeyboardInterrupt


def making_a_class() -> None:
    type("Made", (), {"it": Strikes()})


def making_a_model() -> None:
    """What pydantic makes of Ctrl-C while it builds a model."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as error:
        text = f'Error building "model" validator: {error!r}'
    raise SchemaError(text)


def defect() -> NoReturn:
    raise RuntimeError("a defect") from ValueError("of Symposia")


def run(command: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> object:
    """The exit code of a command line that has this one command."""
    line = typer.Typer()
    line.command()(command)
    monkeypatch.setattr(app, "build_app", lambda _: line)
    with pytest.raises(SystemExit) as end:
        main([])
    return end.value.code


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Handles SIGINT as in a terminal: a program that a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("command", [making_a_class, making_a_model])
def test_ctrl_c_during_a_class_body_exits_cleanly(command, monkeypatch, capsys):
    assert run(command, monkeypatch) == 130
    assert capsys.readouterr() == ("", "")


def test_ctrl_c_during_the_import_exits_with_130(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, app.__name__)
    monkeypatch.setattr(sys, "meta_path", [Strikes(), *sys.meta_path])
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_defect_has_a_full_traceback(monkeypatch):
    with pytest.raises(RuntimeError, match="a defect"):
        run(defect, monkeypatch)
