"""The loader of the scripts, and their headers."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from redis.crc import key_slot
from redis.exceptions import NoScriptError

from mutants.running import script_names, text_of
from symposia.models.errors import ScriptError
from symposia.state.redis import scripts
from symposia.state.redis.keys import DUE, SESSION_PARTS, lock_key
from symposia.state.redis.scripts import evaluate, load_script

VERBS = [name for name in script_names() if not name.startswith("lib/")]
MODULES = [name for name in script_names() if name.startswith("lib/")]
#: Folders of scripts whose keys are no session's, by the first of these keys.
FIRST_KEYS = {
    "due_index": {"due"},
    "lanes": {"lanes"},
    "queue": {"taken"},
    "memory": {"memory"},
    "metrics": {"counts"},
    "reviews": {"batch"},
    "schedules": {"entry"},
    "limits": {"rate", "books"},
    "recording": {"recorded"},
    "worker_leases": {"leases"},
    "notices": {"notices"},
    "steps": {"step"},
    "webhooks": {"waiting"},
    "hooks": {"queue"},
    "tokens": {"index"},
    "claims": {"claim"},
}
OF_SESSIONS = [verb for verb in VERBS if verb.partition("/")[0] not in FIRST_KEYS]
#: What the scripts call, with the release of Redis that brought it (or the newest option used of it).
COMMANDS = {
    "COPY": "6.2",
    "DEL": "1.0",
    "EXISTS": "1.0",
    "GET": "1.0",
    "HDEL": "2.0",
    "HEXISTS": "2.0",
    "HGET": "2.0",
    "HGETALL": "2.0",
    "HINCRBY": "2.0",
    "HMGET": "2.0",
    "HLEN": "2.0",
    "HSET": "4.0",
    "HSTRLEN": "3.2",
    "HSETNX": "2.0",
    "LLEN": "1.0",
    "LPOP": "1.0",
    "LPUSH": "1.0",
    "LTRIM": "1.0",
    "MEMORY": "4.0",
    "PERSIST": "2.2",
    "PEXPIRE": "2.6",
    "PEXPIREAT": "2.6",
    "PTTL": "2.6",
    "RPUSH": "1.0",
    "SADD": "2.4",
    "SET": "6.0",
    "SREM": "2.4",
    "TIME": "2.6",
    "XADD": "5.0",
    "XRANGE": "6.2",
    "XREVRANGE": "5.0",
    "ZADD": "6.2",
    "ZCARD": "1.2",
    "ZRANGE": "1.2",
    "ZRANGEBYSCORE": "2.0",
    "ZREM": "1.2",
    "ZREMRANGEBYRANK": "2.0",
    "ZREMRANGEBYSCORE": "1.2",
    "ZSCORE": "1.2",
}


def code(text: str) -> str:
    """Without comments and the contents of strings."""
    return re.sub(r"'[^']*'", "''", re.sub(r"--.*", "", text))


def header(verb: str, field: str) -> str:
    """A header line with the comment lines that continue it."""
    comments = [line.removeprefix("--- ") for line in text_of(verb).splitlines() if line.startswith("--- ")]
    joined = "\n".join(comments)
    found = re.search(rf"^{field}:(.*(?:\n(?![A-Z]+:).*)*)", joined, re.MULTILINE)
    assert found, f"{verb}.lua has no {field} line"
    return found[1].strip()


def answers(verb: str) -> dict[str, tuple[str, ...]]:
    """The answer words a header lists, with what each carries."""
    listed = re.findall(r"([a-z]+)(?:\(([^)]*)\))?", header(verb, "ANSWERS"))
    return {word: tuple(filter(None, carried.split(", "))) for word, carried in listed}


def produced(verb: str) -> dict[str, bool]:
    """The words a body answers with, and whether a view comes along."""
    source = re.sub(r"--.*", "", text_of(verb))
    returns = "\n".join(line for line in source.splitlines() if "return " in line)
    words = dict.fromkeys(re.findall(r"\{ '([a-z]+)'", returns), False)
    words |= dict.fromkeys(re.findall(r"\bview\(session, turns, '([a-z]+)'", returns), True)
    for word in re.findall(r"\banswer_repeated\(session, turns, request, '([a-z]+)'", returns):
        words |= {word: True, "refused": True}
    return words


@pytest.mark.parametrize("verb", VERBS)
def test_header_names_script_answers_and_guarantee(verb):
    assert text_of(verb).startswith(f"--- {verb}: ")
    assert header(verb, "GUARANTEE")
    assert answers(verb)


@pytest.mark.parametrize("verb", VERBS)
def test_script_reads_keys_and_arguments_by_name(verb):
    assert not re.search(r"\b(KEYS|ARGV)\b", code(text_of(verb)))


@pytest.mark.parametrize("verb", VERBS)
def test_declared_names_are_used(verb):
    script = load_script(verb)
    declared = {*script.keys, *script.args, script.rest_of_keys, script.rest_of_args} - {None}
    assert {name for name in declared if not re.search(rf"\b{name}\b", code(text_of(verb)))} == set()


@pytest.mark.parametrize("verb", VERBS)
def test_answers_are_those_of_the_header(verb):
    assert produced(verb) == {word: "view" in carried for word, carried in answers(verb).items()}


@pytest.mark.parametrize("verb", VERBS)
def test_first_key_is_the_key_of_the_folder(verb):
    assert load_script(verb).keys[0] in FIRST_KEYS.get(verb.partition("/")[0], {"session"})


@pytest.mark.parametrize("verb", OF_SESSIONS)
def test_keys_of_a_call_are_in_one_cluster_slot(verb):
    script = load_script(verb)
    one = lock_key("an-id", "floor") if "lock" in script.keys else None
    many = [lock_key("an-id", scope) for scope in ("slot:ann", "item:{7}")] if script.rest_of_keys else []
    keys = script.key_list("an-id", one, many)
    assert len({key_slot(key.encode()) for key in keys}) == 1
    assert len(keys) == len(script.keys) + len(many)


def test_scripts_call_nothing_newer_than_redis_6_2():
    source = "".join(map(text_of, [*VERBS, *MODULES]))
    assert set(re.findall(r"redis\.call\('([A-Z]+)'", source)) <= set(COMMANDS)
    without_error = set(re.findall(r"redis\.pcall\('([A-Z]+)'", source))
    assert without_error == {"COPY", "MEMORY"}, "an error of any other command ends the script"
    used = set(re.findall(r"\b(redis|cjson|string|table|math|os|struct|bit|cmsgpack)\.(\w+)", code(source)))
    assert used <= {
        ("redis", "call"),
        ("redis", "pcall"),
        ("redis", "sha1hex"),
        ("cjson", "decode"),
        ("cjson", "encode"),
        ("math", "floor"),
        ("math", "max"),
        ("math", "min"),
        ("string", "find"),
        ("string", "format"),
        ("string", "match"),
        ("string", "sub"),
        ("table", "remove"),
        ("table", "sort"),
    }
    assert max(COMMANDS.values()) == "6.2"


def test_every_script_is_called():
    features = ("state", "memory", "replay", "reviews", "schedules", "workspace")
    folders = [Path(str(files(f"symposia.{it}"))) for it in features]
    python = "".join(path.read_text("utf-8") for folder in folders for path in folder.rglob("*.py"))
    assert set(
        re.findall(
            r'(?:load_script|_run|_change_status|_upload|call_script|call_on_session)\(\s*(?:[\w.]+,\s*)?"([a-z_/]+)"',
            python,
        )
    ) == set(VERBS)


def test_scripts_use_declared_keys_only():
    for verb in VERBS:
        keys = re.findall(r"redis\.call\('[A-Z]+', ([^,)]+)", text_of(verb))
        assert {key.removesuffix("[i]") for key in keys} <= {
            *load_script(verb).keys,
            load_script(verb).rest_of_keys,
        }, f"{verb}.lua touches what it does not declare"
    touched = set(
        re.findall(r"redis\.p?call\('[A-Z]+', (?:'USAGE', )?([^,)]+)", "".join(map(text_of, MODULES)))
    )
    assert touched <= {
        "KEYS[1]",
        "session",
        "turns",
        "lock",
        "stream",
        "spare",
        "key",
        "held[turn.token]",
    } | {f"keys.{part}" for part in SESSION_PARTS} | {"claim.lock", "claim.listening"}


def test_arguments_are_matched_by_name():
    script = load_script("sessions/plan")
    assert script.arg_list({"plan": "{}", "expected": 3}, ()) == [3, "{}"]
    with pytest.raises(
        TypeError, match=r"sessions/plan: expected arguments \['expected', 'plan'\], got \['plan'\]"
    ):
        script.arg_list({"plan": "{}"}, ())
    with pytest.raises(TypeError, match="got"):
        script.arg_list({"plan": "{}", "expected": 3, "extra": 1}, ())
    with pytest.raises(TypeError, match="expected no further arguments"):
        script.arg_list({"plan": "{}", "expected": 3}, ["more"])


def test_keys_are_matched_by_name():
    with pytest.raises(TypeError, match="a lock"):
        load_script("turns/begin").key_list("an-id", None, ())
    with pytest.raises(TypeError, match="a lock"):
        load_script("sessions/plan").key_list("an-id", "a lock", ())
    with pytest.raises(TypeError, match="expected no further keys"):
        load_script("turns/begin").key_list("an-id", "a lock", ["more"])


def test_flushed_scripts_are_loaded_again(table):
    number = table.plan_one()
    table.client.script_flush()
    grant = table.grant(number)
    table.client.script_flush()
    assert table.commit(grant, "still here").word == "committed"
    assert table.texts() == ["still here"]


def test_known_script_is_not_sent_again(table):
    table.state()
    table.client.config_resetstat()
    for _ in range(3):
        table.store.sweep(table.id, grace_ms=60_000)
    commands = table.client.info("commandstats")
    assert commands["cmdstat_evalsha"]["calls"] >= 3
    assert commands.get("cmdstat_eval", {"calls": 0})["calls"] <= 1


def test_script_error_names_script_and_cause(table):
    table.client.delete(table.key("turns"))
    table.client.set(table.key("turns"), "not a hash")
    with pytest.raises(ScriptError, match=r"script 'turns/begin' failed: .*WRONGTYPE") as caught:
        table.begin(1)
    assert caught.value.verb == "turns/begin"
    assert not isinstance(caught.value.__cause__, NoScriptError)
    table.client.delete(table.key("turns"))


def test_index_scripts_use_one_key(client):
    for verb in [verb for verb in VERBS if verb.startswith("due_index/")]:
        script = load_script(verb)
        assert (script.keys, script.rest_of_keys) == (("due",), None)
    assert evaluate(client, load_script("due_index/claim"), [DUE], [10, 1000]) == ["claimed", []]


def test_header_keys_are_parts_of_a_session():
    for verb in OF_SESSIONS:
        assert set(load_script(verb).keys) <= {*SESSION_PARTS, "spare", "calls", "listening", "lock"}


def test_script_is_read_once_per_process():
    assert load_script("turns/begin") is load_script("turns/begin")
    assert scripts.view_fields() is scripts.view_fields()
