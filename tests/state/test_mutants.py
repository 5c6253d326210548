"""`make mutants` changes one check of a script at a time, and finds the one that no test needs."""

from __future__ import annotations

import pytest

from mutants.mutator import mutants
from mutants.running import LUA, sound

SCRIPT = """-- if comment == 1 then
local is_old = turn.token == token or string.find(turn.former or '', 'a or b')
redis.call('DEL', lock)
if not turn and (number < 3 or number > 5) then return 1
elseif late then return 2 end
"""


def changes(text):
    return [(mutant.line, mutant.change) for mutant in mutants("some", text)]


def test_each_check_of_a_script_is_changed():
    operand = "string.find(turn.former or '', 'a or b')"
    condition = "not turn and (number < 3 or number > 5)"
    assert changes(SCRIPT) == [
        (2, "`turn.token == token or` is dropped"),
        (2, "`==` becomes `~=`"),
        (2, f"`or {operand}` is dropped"),
        (4, "`not turn and` is dropped"),
        (4, f"`{condition}` becomes `false`"),
        (4, f"`{condition}` becomes `true`"),
        (4, "`and (number < 3 or number > 5)` is dropped"),
        (4, "`number < 3 or` is dropped"),
        (4, "`<` becomes `<=`"),
        (4, "`or number > 5` is dropped"),
        (4, "`>` becomes `>=`"),
        (5, "`late` becomes `false`"),
        (5, "`late` becomes `true`"),
    ]


def test_a_default_value_is_no_check():
    assert changes("local count = turn.count or 0\nlocal all = some or {}") == []


@pytest.mark.parametrize("script", sorted(file.stem for file in LUA.glob("*.lua")))
def test_every_mutant_is_a_script_that_redis_compiles(client, script):
    original = sound(script)
    for mutant in mutants(script, original.text):
        assert mutant.text != original.text
        client.execute_command("SCRIPT", "LOAD", mutant.text)
