"""Rules of the usual tools: which name the same cause, their documentation pages, and which are about security.

Ruff has bandit's rules under the letter S: `S105` is `B105`. Other rules have the same cause because one line of
code makes all of them speak, such as an `except` that is too broad and whose body is `pass`. A test compares the
names of pages with the installed programs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

#: Rules with the same cause, in lower case. A rule may be in several groups.
GROUPS: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
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
_BANDIT_NUMBER = re.compile(r"[bs]([1-7]\d\d)")
_GROUPS_OF: dict[str, frozenset[int]] = {
    rule: frozenset(at for at, group in enumerate(GROUPS) if rule in group)
    for rule in frozenset().union(*GROUPS)
}


def normalise_rule(rule: str) -> str:
    """Return a rule in lower case, under the same name for Ruff and bandit."""
    name = rule.casefold()
    match = _BANDIT_NUMBER.fullmatch(name)
    return f"b{match[1]}" if match else name


#: Kinds of defects (`findings.Category`) of the usual rules, in lower case and with bandit's names.
_CATEGORIES: dict[str, str] = {
    rule: category
    for category, names in (
        ("access", "b103 b104 b105 b106 b107 b303 b311 b323 b324 b501 b502 b503 b504 b505 b507"),
        (
            "injection",
            "b102 b202 b301 b302 b307 b310 b506 b602 b604 b605 b608 b609 b610 b611 b614 b701 b702 b703 b704 pgh001 sc2086",
        ),
        ("data-loss", "sc2115"),
        ("error-handling", "b110 b112 ble001 e722 sim105 try002 try400"),
        ("wrong-result", "b006 e711 e712 f632 f811 f821 f823"),
        ("resource", "b113 sim115"),
    )
    for rule in names.split()
}


def category_of_rule(rule: str) -> str:
    """Return the kind of defect (`findings.Category`) that a rule of the usual tools reports; empty: not known."""
    return _CATEGORIES.get(normalise_rule(rule), "")


def is_same_cause(one: str, other: str) -> bool:
    """Return whether two rules name the same cause: the same rule, or rules of one group."""
    mine, theirs = normalise_rule(one), normalise_rule(other)
    return mine == theirs or bool(_GROUPS_OF.get(mine, frozenset()) & _GROUPS_OF.get(theirs, frozenset()))


_RUFF = "https://docs.astral.sh/ruff/rules/#"
_BANDIT = "https://bandit.readthedocs.io/en/latest/"
_SHELLCHECK = "https://www.shellcheck.net/wiki/"
_RUFF_RULE = re.compile(
    r"(?:A|AIR|ANN|ARG|ASYNC|B|BLE|C|C4|C90|COM|CPY|D|DJ|DOC|DTZ|E|EM|ERA|EXE|F|FA|FAST|FBT|FIX|"
    r"FLY|FURB|G|I|ICN|INP|INT|ISC|LOG|N|NPY|PD|PERF|PGH|PIE|PLC|PLE|PLR|PLW|PT|PTH|PYI|Q|RET|"
    r"RSE|RUF|S|SIM|SLF|SLOT|T|T10|T20|TC|TD|TID|TRY|UP|W|YTT)\d{1,4}"
)
#: Bandit's numbers begin at 101 and end at 704; below and above, `B` is flake8-bugbear, which Ruff has.
_BANDIT_RULE = re.compile(r"B[1-7]\d\d")
_SHELLCHECK_RULE = re.compile(r"SC\d{4}")
#: Rules of flake8-bandit in Ruff, of bandit, and weaknesses by number.
_SECURITY_RULE = re.compile(r"S\d{3}|B[1-7]\d\d|CWE-\d{1,5}")
_BANDIT_PLUGINS = {
    "B101": "assert_used",
    "B102": "exec_used",
    "B103": "set_bad_file_permissions",
    "B104": "hardcoded_bind_all_interfaces",
    "B105": "hardcoded_password_string",
    "B106": "hardcoded_password_funcarg",
    "B107": "hardcoded_password_default",
    "B108": "hardcoded_tmp_directory",
    "B110": "try_except_pass",
    "B112": "try_except_continue",
    "B113": "request_without_timeout",
    "B201": "flask_debug_true",
    "B202": "tarfile_unsafe_members",
    "B324": "hashlib",
    "B501": "request_with_no_cert_validation",
    "B502": "ssl_with_bad_version",
    "B503": "ssl_with_bad_defaults",
    "B504": "ssl_with_no_version",
    "B505": "weak_cryptographic_key",
    "B506": "yaml_load",
    "B507": "ssh_no_host_key_verification",
    "B508": "snmp_insecure_version_check",
    "B509": "snmp_crypto_check",
    "B601": "paramiko_calls",
    "B602": "subprocess_popen_with_shell_equals_true",
    "B603": "subprocess_without_shell_equals_true",
    "B604": "any_other_function_with_shell_equals_true",
    "B605": "start_process_with_a_shell",
    "B606": "start_process_with_no_shell",
    "B607": "start_process_with_partial_path",
    "B608": "hardcoded_sql_expressions",
    "B609": "linux_commands_wildcard_injection",
    "B610": "django_extra_used",
    "B611": "django_rawsql_used",
    "B612": "logging_config_insecure_listen",
    "B613": "trojansource",
    "B614": "pytorch_load",
    "B615": "huggingface_unsafe_download",
    "B701": "jinja2_autoescape_false",
    "B702": "use_of_mako_templates",
    "B703": "django_mark_safe",
    "B704": "markupsafe_markup_xss",
}


def rule_page(rule: str) -> str:
    """Return the documentation page of a rule of Ruff, bandit or ShellCheck; empty: another rule."""
    if _BANDIT_RULE.fullmatch(rule):
        return _BANDIT + _bandit_page(rule)
    if _RUFF_RULE.fullmatch(rule):
        return _RUFF + rule
    return _SHELLCHECK + rule if _SHELLCHECK_RULE.fullmatch(rule) else ""


#: A name in words, and not a code such as `SC2086`.
_WORDS = re.compile(r"[A-Za-z][a-z][a-z0-9]*(?: [a-z0-9]+)*")


def rule_title(rule: str) -> str:
    """Return what a rule is about in a few words, such as `Unused import`; its id if only the id is known."""
    name = _BANDIT_PLUGINS.get(rule) or _ruff_names().get(re.sub(r"^B(?=[1-7]\d\d$)", "S", rule))
    words = " ".join(re.split(r"[-_ ]+", name or rule))
    return words[:1].upper() + words[1:] if name or _WORDS.fullmatch(words) else f"Rule {rule}"


@cache
def _ruff_names() -> Mapping[str, str]:
    """Return the names of Ruff's rules by code."""
    return tomllib.loads(files(__package__).joinpath("ruff_rules.toml").read_text(encoding="utf-8"))


def is_security_rule(rule: str) -> bool:
    """Return whether a rule is about security."""
    return _SECURITY_RULE.fullmatch(rule) is not None


def _bandit_page(rule: str) -> str:
    if rule in _BANDIT_PLUGINS:
        return f"plugins/{rule.lower()}_{_BANDIT_PLUGINS[rule]}.html"
    if rule.startswith(("B3", "B4")):
        return f"blacklists/blacklist_{'calls' if rule.startswith('B3') else 'imports'}.html"
    return "plugins/index.html"
