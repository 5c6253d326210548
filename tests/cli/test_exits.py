"""How a command ends, whatever ends it."""

from __future__ import annotations

import typer

from symposia.workers.cli.exits import ExitCode, guarded


def test_ctrl_c_is_ctrl_c_also_while_a_class_is_made(capsys):
    class Struck:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    app = typer.Typer()

    @app.command()
    def make() -> None:
        type("Made", (), {"it": Struck()})

    assert guarded(app, []) == ExitCode.INTERRUPTED
    assert capsys.readouterr() == ("", "")
