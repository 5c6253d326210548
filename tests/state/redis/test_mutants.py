"""`make mutants` changes one check of a script at a time, and finds the one that no test needs."""

from __future__ import annotations

import json
import sys
from subprocess import run

import pytest

from mutants.equivalents import equivalents, key
from mutants.mutator import mutants
from mutants.running import SUPPORT, script_names, text_of

SCRIPT = """-- if comment == 1 then
local is_old = turn.token == token or string.find(turn.former or '', 'a or b')
redis.call('DEL', lock)
if not turn and (number < 3 or number > 5) then return 1
elseif late then return 2 end
"""


def changes(text):
    return [(mutant.line, mutant.change) for mutant in mutants("some", text)]


def test_each_check_is_mutated():
    operand = "string.find(turn.former or '', 'a or b')"
    condition = "not turn and (number < 3 or number > 5)"
    assert sorted(changes(SCRIPT)) == sorted(
        [
            (2, "`turn.token == token or` is dropped"),
            (2, "`turn.token == token` becomes `turn.token ~= token`"),
            (2, f"`or {operand}` is dropped"),
            (4, "`not turn and` is dropped"),
            (4, f"`{condition}` becomes `false`"),
            (4, f"`{condition}` becomes `true`"),
            (4, "`and (number < 3 or number > 5)` is dropped"),
            (4, "`number < 3 or` is dropped"),
            (4, "`number < 3` becomes `number <= 3`"),
            (4, "`or number > 5` is dropped"),
            (4, "`number > 5` becomes `number >= 5`"),
            (5, "`late` becomes `false`"),
            (5, "`late` becomes `true`"),
        ]
    )


def test_default_value_is_not_mutated():
    assert changes("local count = turn.count or 0\nlocal all = some or {}") == []


@pytest.mark.parametrize("script", script_names())
def test_redis_compiles_every_mutant(client, script):
    original = text_of(script)
    for mutant in mutants(script, original):
        assert mutant.text != original
        client.execute_command("SCRIPT", "LOAD", mutant.text)


def test_equivalent_mutants_exist():
    made = {key(mutant) for script in script_names() for mutant in mutants(script, text_of(script))}
    assert equivalents().keys() <= made


@pytest.mark.long
def test_survivors_are_listed(tmp_path):
    recording = tmp_path / "calls.json"
    tests = ["tests/state/turns/test_leases.py::test_only_the_owner_renews", "tests/gone.py::test_gone"]
    recording.write_text(json.dumps({test: [0.1, ["turns/renew"]] for test in tests}))
    command = [sys.executable, "-m", "mutants", "turns/renew:9", f"--recording={recording}"]
    done = run(command, cwd=SUPPORT, capture_output=True, text=True, check=True)
    status = "FINAL[redis.call('HGET', session, 'status')]"
    assert done.stdout.splitlines()[-3:] == [
        "4 mutants, 2 killed, 2 survived",
        "turns/renew.lua:9: `owner ~= token or` is dropped",
        f"turns/renew.lua:9: `owner ~= token or {status}` becomes `false`",
    ]
