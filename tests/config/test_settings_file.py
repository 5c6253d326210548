"""`symposia.toml` comes after the environment; what is misspelt is reported with the nearest name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from files_of_others import give_to_other_user
from symposia.config.described import settings_in_use
from symposia.config.secrets import known_secrets
from symposia.config.settings import (
    PATHS,
    Settings,
    child_environment,
    find_settings_problems,
    load_settings,
)
from symposia.models.errors import InvalidInput


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file of the working folder, which is not yet there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "symposia.toml"


def sources() -> dict[str, str]:
    return {it.description.name: it.source for it in settings_in_use(load_settings())}


def test_file_in_the_working_folder_is_read(file: Path) -> None:
    file.write_text("lease_s = 5\nflower_hosts = ['a.example', 'b.example']\narchive = true\n")
    settings = load_settings()
    assert (settings.lease_s, settings.flower_hosts) == (5, ("a.example", "b.example"))


def test_environment_overrides_file_and_arguments_override_both(file: Path, monkeypatch) -> None:
    file.write_text("lease_s = 5\nmax_turns = 50\nmax_message_bytes = 5000\n")
    monkeypatch.setenv("SYMPOSIA_MAX_TURNS", "60")
    monkeypatch.setenv("SYMPOSIA_MAX_MESSAGE_BYTES", "6000")
    settings = load_settings(max_message_bytes=7000)
    assert (settings.lease_s, settings.max_turns, settings.max_message_bytes) == (5, 60, 7000)


def test_alternative_variable_overrides_the_file(file: Path, monkeypatch) -> None:
    file.write_text("redis_url = 'redis://of-the-file'\n")
    monkeypatch.setenv("REDIS_URL", "redis://of-the-environment")
    assert sources()["redis_url"] == "REDIS_URL"


def test_source_of_each_value_is_known(file: Path, monkeypatch) -> None:
    file.write_text("lease_s = 5\n")
    monkeypatch.setenv("SYMPOSIA_MAX_TURNS", "60")
    found = sources()
    assert found["lease_s"] == str(file)
    assert found["max_turns"] == "SYMPOSIA_MAX_TURNS"
    assert found["log_level"] == "default"


def test_variable_names_the_file(file: Path, monkeypatch, tmp_path: Path) -> None:
    file.write_text("lease_s = 5\n")
    (tmp_path / "other.toml").write_text("lease_s = 6\n")
    monkeypatch.setenv("SYMPOSIA_CONFIG", str(tmp_path / "other.toml"))
    assert load_settings().lease_s == 6


def test_named_file_must_exist(file: Path, monkeypatch) -> None:
    monkeypatch.setenv("SYMPOSIA_CONFIG", "/no/such.toml")
    with pytest.raises(InvalidInput, match=r"^SYMPOSIA_CONFIG: cannot be read: No such file"):
        load_settings()


def test_relative_paths_start_at_the_folder_of_the_file(file: Path, monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    named = tmp_path / "etc" / "settings.toml"
    named.write_text(
        "agents_file = 'a.toml'\ndata_dir = '~/d'\n[jobs]\none = 'one.yaml'\ntwo = '/two.yaml'\n"
    )
    monkeypatch.setenv("SYMPOSIA_CONFIG", "etc/settings.toml")
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.delenv("SYMPOSIA_DATA_DIR")
    settings = load_settings()
    assert settings.agents_file == tmp_path / "etc" / "a.toml"
    assert settings.data_dir == Path("/home/ann/d")
    assert settings.jobs == {"one": tmp_path / "etc" / "one.yaml", "two": Path("/two.yaml")}


def test_every_path_is_relative_to_the_file() -> None:
    paths = {name for name, field in Settings.model_fields.items() if "Path" in repr(field.annotation)}
    assert paths == PATHS


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("leese_s = 3", "{file}: has an unknown key, did you mean lease_s? (got 'leese_s')"),
        ("x = 3", "{file}: has an unknown key (got 'x')"),
        ("lease_s = 0", "{file}: lease_s: must be greater than or equal to 1 (got 0)"),
        ("lease_s = [0]", "{file}: lease_s: must be a valid number (got a list of 1)"),
        ("lease_s = true", "{file}: lease_s: must not be true or false (got "),
        ("worker_processes = true", "{file}: worker_processes: must not be true or false (got "),
        ("[jobs]\na = 1", "{file}: jobs.a: "),
        (
            "[jobs]\na = 'a.yaml'\nredis_url = 'redis://:secret@db'",
            "{file}: [jobs] has the name of a setting; write settings above the first [table] (got 'redis_url')",
        ),
    ],
)
def test_bad_key_names_file_key_and_rule(file: Path, text: str, line: str) -> None:
    file.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        load_settings()
    assert str(refused.value).startswith(line.format(file=file))


def test_value_of_an_unknown_key_is_not_shown(file: Path) -> None:
    file.write_text("openai_token = 'hunter2'")
    with pytest.raises(InvalidInput) as refused:
        load_settings()
    assert "hunter2" not in str(refused.value)


def test_empty_text_in_the_file_counts_as_not_set(file: Path) -> None:
    file.write_text("agents_file = ''\nlog_level = ''\n")
    assert (load_settings().agents_file, load_settings().log_level) == (None, "INFO")


def test_file_that_all_may_write_is_reported(file: Path) -> None:
    file.write_text("lease_s = 5")
    file.chmod(0o646)
    assert find_settings_problems() == [
        f"all users can write {file}, which can name code to run: chmod o-w {file}"
    ]


def test_file_of_another_user_is_reported(file: Path, monkeypatch) -> None:
    file.write_text("lease_s = 5")
    give_to_other_user(file, monkeypatch)
    assert find_settings_problems() == [
        f"{file} belongs to another user; if you trust it, name it with SYMPOSIA_CONFIG"
    ]
    assert load_settings().lease_s == 5


def test_file_of_another_user_is_refused_where_all_may_write(file: Path, monkeypatch) -> None:
    file.write_text("lease_s = 5")
    give_to_other_user(file, monkeypatch)
    file.parent.chmod(0o1777)
    with pytest.raises(InvalidInput, match=r"^symposia\.toml: must not be left by another user"):
        load_settings()
    monkeypatch.setenv("SYMPOSIA_CONFIG", str(file))
    assert (load_settings().lease_s, find_settings_problems()) == (5, [])


def test_invalid_file_is_refused(file: Path) -> None:
    file.write_text("lease_s = ")
    with pytest.raises(InvalidInput, match=r"^symposia\.toml: must be valid TOML"):
        load_settings()


def test_byte_order_mark_is_skipped(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbflease_s = 5")
    assert load_settings().lease_s == 5


def test_job_may_be_called_archive(file: Path) -> None:
    file.write_text("[jobs]\narchive = 'archive.yaml'")
    assert load_settings().jobs == {"archive": file.parent / "archive.yaml"}


def test_child_process_gets_the_settings_and_no_file(file: Path) -> None:
    file.write_text("lease_s = 5\nmetrics_port = 9000\n")
    environment = child_environment(load_settings(metrics_port=None))
    script = "from symposia.config.settings import load_settings as l; import json; print(json.dumps([l().lease_s, l().metrics_port]))"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [5, None]
    assert done.stderr == ""


def test_child_does_not_inherit_a_removed_value(monkeypatch) -> None:
    monkeypatch.setenv("SYMPOSIA_METRICS_PORT", "9000")
    assert "SYMPOSIA_METRICS_PORT" not in child_environment(load_settings(metrics_port=None))


def test_unknown_variable_is_reported_with_the_nearest_name(monkeypatch) -> None:
    monkeypatch.setenv("SYMPOSIA_LEESE_S", "3")
    monkeypatch.setenv("SYMPOSIA_TEST_SOMETHING", "3")
    monkeypatch.setenv("SYMPOSIA_CONFIG", "/dev/null")
    assert find_settings_problems() == [
        "environment variables that are no setting are ignored: SYMPOSIA_LEESE_S, did you mean SYMPOSIA_LEASE_S?"
    ]


def test_unknown_variable_is_logged_once(monkeypatch, caplog) -> None:
    monkeypatch.setenv("SYMPOSIA_LOGGED_ONCE", "3")
    for _ in range(3):
        load_settings()
    assert caplog.text.count("SYMPOSIA_LOGGED_ONCE") == 1


@pytest.mark.parametrize(
    ("text", "mode", "lines"),
    [
        ("redis_url = 'redis://:hunter2@host'", 0o644, 1),
        ("redis_url = 'redis://:hunter2@host'", 0o640, 0),
        ("redis_url = 'redis://host'", 0o644, 0),
    ],
)
def test_password_in_a_public_file_is_reported(file: Path, text: str, mode: int, lines: int) -> None:
    file.write_text(text)
    file.chmod(mode)
    problems = find_settings_problems()
    assert len(problems) == lines
    assert all(str(file) in it and "hunter2" not in it for it in problems)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("redis_url", "redis://:hunter two@host"),
        ("broker_url", "amqp://me:hunter\ttwo@host//"),
        ("database_url", "postgresql://me@host/db?password=hunter two"),
    ],
)
def test_password_with_a_blank_is_refused_unseen(name: str, url: str) -> None:
    with pytest.raises(InvalidInput, match="must have no blank in a password; write it as %20") as refused:
        load_settings(**{name: url})
    assert "two" not in str(refused.value)


def test_path_of_a_database_may_have_a_blank() -> None:
    url = "sqlite:////srv/my data/archive.sqlite"
    stored = load_settings(database_url=url).database_url
    assert stored is not None
    assert stored.get_secret_value() == url


def test_encoded_option_of_a_url_is_hidden_and_known() -> None:
    url = "postgresql://me@host/db?pass%77ord=hunter2"
    shown = {it.description.name: it.value for it in settings_in_use(load_settings(database_url=url))}
    assert shown["database_url"] == "postgresql://me@host/db?pass%77ord=***"
    assert "hunter2" in known_secrets([url])
