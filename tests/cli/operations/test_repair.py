"""`symposia repair` prints a valid document, and what it changed."""

from __future__ import annotations

import json

from processes.terminal import Terminal

COLLAB = {
    "meta": {"protocolVersion": "1.0.0"},
    "collab_id": "collab-550e8400-e29b-41d4-a716-446655440003",
    "context_id": "550e8400-e29b-41d4-a716-446655440000",
    "title": "t",
    "purpose": "p",
    "mode": "pair",
    "status": "draft",
    "participants": [{"participant_id": "a", "kind": "agent"}],
    "created_at": "2025-12-07T00:00:00Z",
}


def test_repairs_are_named_and_the_document_printed(bare: Terminal):
    (bare.folder / "collab.json").write_text(json.dumps(COLLAB))
    said = bare.call("repair", "collab.json")
    assert said.code == 0
    assert json.loads(said.out)["collab_id"] == "550e8400-e29b-41d4-a716-446655440003"
    assert "collab_id: collab-550e8400-e29b-41d4-a716-446655440003 -> 550e8400" in said.err
    (bare.folder / "valid.json").write_text(said.out)
    assert bare.call("repair", "valid.json").err == ""


def test_what_cannot_be_repaired_is_refused(bare: Terminal):
    (bare.folder / "collab.json").write_text(json.dumps(COLLAB | {"mode": "chaos"}))
    said = bare.call("repair", "collab.json")
    assert (said.code, said.out) == (2, "")
    assert "mode: " in said.err
    assert bare.call("repair", "missing.json").code == 2
