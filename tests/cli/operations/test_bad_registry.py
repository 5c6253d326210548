"""A broken registry is reported with file, entry, field and rule by doctor and by a starting worker."""

from __future__ import annotations

import pytest

from live import LiveWorker, until

SYSTEM = '[agents.bot]\nkind = "external"\nurl = "https://USERexample.org/x"\nsecret_env = "S"'
BROKEN = {
    "an unknown kind": (
        '[agents.tool]\nkind = "comand"',
        "[agents.tool] kind: must be one of llm, python, scripted, command, human, external, session, a2a (got 'comand')",
    ),
    "a host that is not allowed": (
        '[webhooks]\nhosts = ["*.example.com"]\n' + SYSTEM.replace("USER", ""),
        "[agents.bot] url: must be on a host allowed by [webhooks] hosts: *.example.com (got 'example.org')",
    ),
    "a program without its arguments": (
        '[agents.tool]\nkind = "command"',
        "[agents.tool] argv: is required (got nothing)",
    ),
    "a secret in the file": (
        SYSTEM.replace("USER", "me:pw@"),
        "[agents.bot] url: must not contain credentials",
    ),
}
MISSING = {
    "a program that is not there": (
        '[agents.tool]\nkind = "command"\nargv = ["no-such-program"]',
        "[agents.tool] argv[0]: must be a program on the PATH, or the path of a program (got 'no-such-program')",
    ),
    "a path that does not import": (
        '[agents.tool]\nkind = "python"\ncallable = "nowhere:f"',
        "[agents.tool] callable: ImportError: nowhere:f: ModuleNotFoundError: No module named 'nowhere'",
    ),
    "a variable that is not set": (
        '[agents.bot]\nkind = "external"\nurl = "https://example.org/x"\nsecret_env = "NO_SUCH_SECRET"',
        "[agents.bot] secret_env: environment variable NO_SUCH_SECRET is not set",
    ),
}


@pytest.fixture
def registry(terminal):
    """Writes the agents file; answers its path."""

    def write(text):
        path = terminal.folder / "registry.toml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    ("text", "problem", "grade"),
    [*((*it, "bad") for it in BROKEN.values()), *((*it, "warning") for it in MISSING.values())],
    ids=[*BROKEN, *MISSING],
)
def test_doctor_names_file_entry_field_and_rule(terminal, registry, text, problem, grade):
    path = registry(text)
    findings = terminal.call("doctor", "--json").json()["findings"]
    assert [it["grade"] for it in findings if it["text"].startswith(f"{path}: {problem}")] == [grade], (
        findings
    )


@pytest.mark.long
def test_worker_does_not_start_with_a_bad_agents_file(terminal, registry):
    text, problem = BROKEN["a secret in the file"]
    path = registry(text)
    said = _start(terminal)
    try:
        until(lambda: said.process.poll() is not None, timeout_s=40, what="the worker ends")
        assert said.process.returncode == 2
        assert said.log().count(f"{path}: {problem}") == 1
        assert "Traceback" not in said.log()
    finally:
        said.close()


@pytest.mark.long
@pytest.mark.parametrize("command", ["worker", "up"])
def test_commands_refuse_a_broken_file_in_one_line(terminal, registry, command):
    text, problem = BROKEN["a program without its arguments"]
    path = registry(text)
    said = terminal.run(command)
    assert (said.code, said.out, said.err) == (2, "", f"symposia: {path}: {problem}\n")


@pytest.mark.long
def test_worker_names_missing_parts_at_start(terminal, registry):
    path = registry(
        "\n".join(
            text.replace("agents.tool", f"agents.tool{i}") for i, (text, _) in enumerate(MISSING.values())
        )
    )
    worker = _start(terminal)
    try:
        worker.wait_ready()
        until(lambda: worker.log().count(str(path)) >= len(MISSING), what=worker.log())
        for i, (_, problem) in enumerate(MISSING.values()):
            assert problem.replace("agents.tool", f"agents.tool{i}") in worker.log()
    finally:
        worker.close()


def _start(terminal):
    return LiveWorker("w", terminal.folder, terminal.environment, app="symposia.workers", concurrency=1)
