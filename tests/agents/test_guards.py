"""`[guards]` tables: what is accepted, and one clear line for what is not."""

from __future__ import annotations

import pytest

from symposia.agents.registry.registry import Registry
from symposia.models.errors import RegistryError
from symposia.models.sessions.options import AgentBinding

AGENT = '\n[agents.ada]\nkind = "scripted"\nguards = ["short"]\n'
SHORT = '[guards.short]\nkind = "length"\nmax_chars = 9\nthen = "skip"\n'


@pytest.fixture
def load(tmp_path):
    def loaded(text):
        path = tmp_path / "agents.toml"
        path.write_text(text)
        return Registry.load(path)

    return loaded


def guard(lines):
    return "[guards.short]\n" + lines + "\n"


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (
            'kind = "size"\nthen = "skip"',
            "[guards.short] kind: must be one of length, pattern, deny, schema, callable",
        ),
        ('kind = "length"\nmax_chars = 9', "[guards.short] then: "),
        ('kind = "length"\nthen = "skip"', "`min_chars` or `max_chars` must be set"),
        (
            'kind = "length"\nmin_chars = 9\nmax_chars = 2\nthen = "skip"',
            "`min_chars` must not be above `max_chars`",
        ),
        (
            'kind = "length"\nmax_chars = 9\nthen = "park"',
            '`then = "park"` and `to = NAME` must be set together',
        ),
        ('kind = "length"\nmax_chars = 9\nthen = "skip"\nto = "ann"', '`then = "park"` and `to = NAME`'),
        ('kind = "length"\nmax_chars = 9\nthen = "skip"\nretries = 2', "`retries` must be set with"),
        ('kind = "length"\nmax_chars = 9\nthen = "ask_again"\nretries = 0', "[guards.short] retries: "),
        (
            'kind = "length"\nmax_chars = 9\nthen = "ask_again"\nwhen = "before"',
            "`then` must be skip, park or abort",
        ),
        ('kind = "pattern"\nthen = "skip"', "either `forbid` or `require` must be set"),
        (
            'kind = "pattern"\nforbid = "(a)\\\\1"\nthen = "skip"',
            "[guards.short] forbid: must be a regular expression",
        ),
        ('kind = "deny"\nwords = []\nthen = "skip"', "[guards.short] words: "),
        (
            'kind = "deny"\nwords = [" a"]\nthen = "skip"',
            "[guards.short] words[0]: must be a word without blanks",
        ),
        ('kind = "schema"\nthen = "skip"\nschema = { type = "thing" }', "[guards.short] schema: "),
        ('kind = "schema"\nthen = "skip"\nwhen = "before"\nschema = {}', "`when` must be after"),
        (
            'kind = "callable"\ncallable = "nowhere"\nthen = "skip"',
            "[guards.short] callable: must be module:name",
        ),
        ('kind = "length"\nmax_chars = 9\nthen = "skip"\ncolour = 1', "[guards.short] colour: "),
    ],
)
def test_wrong_guard_is_one_clear_line(load, lines, rule):
    with pytest.raises(RegistryError) as caught:
        load(guard(lines) + AGENT)
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_guard_names_the_nearest(load):
    with pytest.raises(
        RegistryError, match=r"\[agents.ada\] guards\[0\]: must be a \[guards\] table \(short; got 'shrt'"
    ):
        load(SHORT + AGENT.replace('"short"', '"shrt"'))


@pytest.mark.parametrize("kind", ['"human"', '"external"\nurl = "https://a.example"\nsecret_env = "S"'])
def test_answers_that_come_later_cannot_be_guarded(load, kind):
    text = AGENT.replace('"scripted"', kind)
    with pytest.raises(RegistryError, match=r"answers of kind \w+ are not checked"):
        load(SHORT + text)
    assert load(SHORT.replace("then", 'when = "before"\nthen') + text).guards_of("ada")


def test_guards_are_in_the_order_of_the_agent(load):
    text = SHORT + SHORT.replace("short", "long") + AGENT.replace('["short"]', '["short", "long"]')
    assert list(load(text).guards_of("ada")) == ["short", "long"]
    assert load(text).guards_of("noop") == {}


def test_missing_callable_is_reported(load):
    registry = load(guard('kind = "callable"\ncallable = "nowhere:check"\nthen = "skip"') + AGENT)
    (problem,) = registry.check()
    assert (problem.entry, problem.field) == ("guards.short", "callable")
    assert "No module named 'nowhere'" in problem.rule


def test_changed_guard_changes_its_agents(load):
    older = load(SHORT + AGENT)
    assert older.changes_to(load(SHORT.replace("9", "8") + AGENT)) == ["changed ada"]


def test_guard_before_the_turn_reads_the_newest_message(load):
    text = SHORT.replace("then", 'when = "before"\nthen') + AGENT + "window = 0\n"
    assert load(text).window(AgentBinding(agent="ada")) == 2, "a review shows its first message, too"
    assert load(SHORT + AGENT + "window = 0\n").window(AgentBinding(agent="ada")) == 0
