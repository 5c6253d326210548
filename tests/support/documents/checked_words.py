"""Checks of console lines that no test types: what their words name exists."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from itertools import pairwise

from containers import compose
from documents.commands import check_command
from documents.lines import ROOT

SYSTEMD, KUBERNETES = ROOT / "deploy/systemd", ROOT / "deploy/kubernetes"
_VERBS = {"daemon-reload", "enable", "kill", "restart", "start", "stop"}
_COMPOSE_SECRETS = dict.fromkeys(("VALKEY_PASSWORD", "POSTGRES_PASSWORD", "FLOWER_BASIC_AUTH"), "secret")


def check_extras(words: Sequence[str]) -> None:
    """Of `pip install`."""
    (extras,) = re.findall(r"^(?:symposia|\.)\[(.*)]$", words[-1])
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= known.keys(), words


def check_activate(words: Sequence[str]) -> None:
    """Of `source`: the environment that `make install` creates."""
    folder, _, script = words[1].partition("/")
    assert f"BIN := {folder}/bin\n" in (ROOT / "Makefile").read_text(), words
    assert script == "bin/activate", words


def check_make(words: Sequence[str]) -> None:
    """Of `make`."""
    targets = re.findall(r"^([\w-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert words[1] in targets, words
    assert [it.partition("=")[0] for it in words[2:]] in ([], ["ARGS"]), words


def check_user(words: Sequence[str]) -> None:
    """Of `useradd`: the user and the home folder of the units."""
    common = (SYSTEMD / "symposia-.service.d/common.conf").read_text()
    home, name = words[-2:]
    assert f"User={name}\n" in common, words
    assert f"StateDirectory={home.removeprefix('/var/lib/')}\n" in common, words


def check_units(words: Sequence[str]) -> None:
    """Of `systemctl` and `journalctl`."""
    named = [it for it in words[1:] if not it.startswith("-") and it != "SIGKILL"]
    if words[0] == "systemctl":
        verb, *named = named
        assert verb in _VERBS, words
    for unit in named:
        name = unit if "." in unit else f"{unit}.service"
        assert unit == "valkey" or list(SYSTEMD.glob(name)), words


def check_run_as_unit(words: Sequence[str]) -> None:
    """Of `systemd-run`: the user, the folder and the settings of the units, and a command of Symposia."""
    common = (SYSTEMD / "symposia-.service.d/common.conf").read_text()
    given = dict(pairwise(words))
    assert f"User={given['--uid']}\n" in common, words
    assert f"WorkingDirectory={given['--working-directory']}\n" in common, words
    assert f"{given['--property']}\n" in common, words
    check_command(["symposia", *words[words.index("/opt/symposia/bin/symposia") + 1 :]])


def check_docker(words: Sequence[str]) -> None:
    """Of `docker`."""
    assert words[1] in ("build", "push", "compose"), words
    if words[1] == "build":
        assert (ROOT / words[-1] / "Dockerfile").exists(), words
    if words[1] == "compose":
        services = compose(_COMPOSE_SECRETS)["services"]
        scaled = [it.partition("=")[0] for it in words if re.fullmatch(r"\w+=\d+", it)]
        assert words[2] == "up", words
        assert set(scaled) <= services.keys(), words


def check_kubectl(words: Sequence[str]) -> None:
    """Of `kubectl`."""
    manifests = "".join(it.read_text() for it in KUBERNETES.glob("*.yaml"))
    for word in words:
        kind, _, name = word.rpartition("/")
        if kind == "deployment":
            assert f"  name: {name}\n" in manifests, words
        elif kind.startswith("deploy"):
            assert (ROOT / word).exists(), words
    if "--namespace" in words:
        assert words[words.index("--namespace") + 1] == "symposia", words
    if "secret" in words:
        assert f"  name: {words[words.index('generic') + 1]}\n" in manifests, words
