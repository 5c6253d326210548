"""The notebook of the examples, executed by a real kernel."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from scaling import patient

NOTEBOOK = Path(__file__).parents[3] / "examples/notebook.ipynb"


@pytest.mark.long
@pytest.mark.timeout(300)
def test_each_cell_of_the_notebook_shows_its_result(tmp_path: Path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=patient(120), resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    local, followed, approved, typed, evaluated = (
        outputs_of(cell) for cell in notebook.cells if cell.cell_type == "code"
    )
    dialogs = [it for it in local["text/html"] if "The Lantern Room? It has a lamp in every window." in it]
    assert len(dialogs) == 1
    assert "max_turns" in local["text/html"][-1]
    assert "ada: The Lantern Room?" in followed["stdout"][0]
    assert "Sent, because you said: Approved." in approved["text/html"][-1]
    assert evaluated["text/plain"][-1] == "{'polite': 1.0, 'brief': 0.5}"
    assert "Name(name='The Lantern Room'" in typed["text/plain"][-1]


def test_the_notebook_is_stored_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in cells] == [([], None)] * len(cells)


def outputs_of(cell: nbformat.NotebookNode) -> dict[str, list[str]]:
    """Return the outputs of a cell by media type, or by the name of a stream."""
    found: dict[str, list[str]] = {}
    for output in cell.outputs:
        data = {output.name: output.text} if output.output_type == "stream" else output.data
        for kind, text in data.items():
            found.setdefault(kind, []).append(text)
    return found
