"""Rules that name the same cause in the words of several tools, as data.

Ruff has bandit's rules under the letter S: `S105` is `B105`. Other rules belong together because one line of
code makes all of them speak, such as an `except` that is too broad and whose body is `pass`.
"""

from __future__ import annotations

import re

#: Rules with the same cause, in lower case. A rule may be in several groups.
GROUPS: tuple[frozenset[str], ...] = tuple(
    frozenset(words.split())
    for words in (
        "b110 ble001 e722 sim105 w0702 w0718 bare-except broad-except broad-exception-caught try-except-pass",
        "b112 ble001 e722 w0702 w0718 bare-except broad-except broad-exception-caught try-except-continue",
        "b307 pgh001 w0123 eval-used",
        "b102 w0122 exec-used",
        "b006 w0102 dangerous-default-value mutable-default-argument mutable-argument-default",
        "b113 w3101 missing-timeout request-without-timeout",
        "b105 b106 b107 hardcoded-password hardcoded-secret hardcoded-credentials",
        "b608 sql-injection hardcoded-sql-expression",
        "b602 b604 b605 command-injection shell-injection subprocess-popen-with-shell-equals-true",
        "b506 yaml-load unsafe-yaml-load",
        "b301 pickle unsafe-deserialization",
        "b324 b303 weak-hash insecure-hash",
        "f401 w0611 unused-import",
        "f841 w0612 unused-variable",
        "f821 e0602 undefined-name undefined-variable",
        "f811 e0102 function-redefined redefined-while-unused",
        "f632 r0123 literal-comparison",
        "f403 w0401 wildcard-import",
        "e711 c0121 singleton-comparison none-comparison",
        "c901 r1260 complex-structure",
        "g004 w1203 logging-f-string",
    )
)

#: Pattern of bandit's rules, which Ruff has under the letter S. Bandit's numbers begin at 100; the numbers of
#: bugbear are below or above bandit's range.
_BANDIT = re.compile(r"[bs]([1-7]\d\d)")
_GROUPS_OF: dict[str, frozenset[int]] = {
    rule: frozenset(at for at, group in enumerate(GROUPS) if rule in group)
    for rule in frozenset().union(*GROUPS)
}


def normalise_rule(rule: str) -> str:
    """Return a rule in lower case, under the same name for Ruff and bandit."""
    name = rule.casefold()
    match = _BANDIT.fullmatch(name)
    return f"b{match[1]}" if match else name


def is_same_cause(one: str, other: str) -> bool:
    """Return whether two rules name the same cause: the same rule, or rules of one group."""
    mine, theirs = normalise_rule(one), normalise_rule(other)
    return mine == theirs or bool(_GROUPS_OF.get(mine, frozenset()) & _GROUPS_OF.get(theirs, frozenset()))
