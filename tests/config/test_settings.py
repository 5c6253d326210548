"""Settings come from `SYMPOSIA_*` variables or arguments; a bad one gives one clear line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from symposia.config.celery import broker_tls, sentinel_options, to_celery_url
from symposia.config.settings import Settings, child_environment, load_settings, read_variable
from symposia.models.errors import InvalidInput


def test_every_setting_has_a_default() -> None:
    settings = load_settings()
    assert settings.redis_url is None
    assert settings.broker_url is None
    assert settings.lease_s == 30


def test_an_empty_variable_counts_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMPOSIA_REDIS_URL", "")
    monkeypatch.setenv("SYMPOSIA_LEASE_S", "")
    assert load_settings().redis_url is None


@pytest.mark.parametrize("name", ["REDIS_URL", "BROKER_URL", "MEMORY_REDIS_URL"])
def test_line_break_after_a_value_is_removed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"SYMPOSIA_{name}", " redis://:secret@db:6379/0\n")
    value = getattr(load_settings(), name.lower())
    assert value.get_secret_value() == "redis://:secret@db:6379/0"


def test_path_may_start_with_a_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings(data_dir="~/kept").data_dir == tmp_path / "kept"


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        ("SYMPOSIA_LEASE_S", "0", "SYMPOSIA_LEASE_S: must be greater than or equal to 1 (got '0')"),
        (
            "SYMPOSIA_LOG_LEVEL",
            "loud",
            "SYMPOSIA_LOG_LEVEL: must be 'DEBUG', 'INFO', 'WARNING' or 'ERROR' (got 'loud')",
        ),
        (
            "SYMPOSIA_REDIS_URL",
            "db:6379",
            "SYMPOSIA_REDIS_URL: must start with one of redis://, rediss://, redis+cluster://, rediss+cluster://, redis+sentinel://, rediss+sentinel:// (got 'db:6379')",
        ),
        (
            "SYMPOSIA_BROKER_URL",
            "rabbit",
            "SYMPOSIA_BROKER_URL: must be a URL such as redis://host:6379/0 or amqp://host:5672// (got 'rabbit')",
        ),
        (
            "REDIS_URL",
            "http://db",
            "REDIS_URL: must start with one of redis://, rediss://, redis+cluster://, rediss+cluster://, redis+sentinel://, rediss+sentinel:// (got 'http://db')",
        ),
        (
            "DIALOG_STATE_TTL_SECONDS",
            "soon",
            "DIALOG_STATE_TTL_SECONDS: must be a duration such as 30s, 15m, 1h30m, 1d or 1w (got 'soon')",
        ),
        (
            "DIALOG_STATE_MAX_SIZE_BYTES",
            "7",
            "DIALOG_STATE_MAX_SIZE_BYTES: must be greater than or equal to 2048 (got '7')",
        ),
    ],
)
def test_bad_value_names_variable_rule_and_value(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, line: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidInput) as refused:
        load_settings()
    assert str(refused.value) == line


def test_an_unknown_setting_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"^SYMPOSIA_LEESE_S: is not a known field"):
        load_settings(leese_s=3)


@pytest.mark.parametrize("name", ["redis_url", "broker_url"])
def test_no_password_is_shown(name: str) -> None:
    settings = load_settings(**{name: "redis://user:hunter2@db:6379/0"})
    assert "hunter2" not in f"{settings!r} {settings}"
    with pytest.raises(InvalidInput) as refused:
        load_settings(**{name: "", "redis_url": "http://user:hunter2@db"})
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("name", ["agents_file", "data_dir", "schedules_file"])
def test_unknown_home_folder_is_reported(monkeypatch, name: str) -> None:
    monkeypatch.setenv(f"SYMPOSIA_{name.upper()}", "~nobody-of-that-name/a")
    with pytest.raises(
        InvalidInput,
        match=f"^SYMPOSIA_{name.upper()}: must name the home folder of an existing user .got ~nobody-of-that-name",
    ):
        load_settings()


def test_settings_are_immutable() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().lease_s = 5  # type: ignore[misc]


def test_a_child_process_reads_the_same_settings(tmp_path: Path) -> None:
    jobs = {"standup": "/srv/standup.yaml"}
    chosen = load_settings(redis_url="redis://:secret@db:6379/0", lease_s=2.5, data_dir=tmp_path, jobs=jobs)
    script = "from symposia.config.settings import load_settings; print(load_settings().model_dump(mode='python').__repr__())"
    answer = subprocess.run(
        [sys.executable, "-c", script],
        env=child_environment(chosen),
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == repr(chosen.model_dump(mode="python"))


@pytest.mark.parametrize("value", ["standup.yaml", "[1]", '{"standup": 1}', '{"": '])
def test_invalid_name_table_is_reported_by_variable(monkeypatch, value) -> None:
    monkeypatch.setenv("SYMPOSIA_JOBS", value)
    with pytest.raises(InvalidInput, match=r"^SYMPOSIA_JOBS"):
        load_settings()


def test_every_setting_reaches_a_child_process() -> None:
    everything = load_settings(
        redis_url="redis://a",
        broker_url="amqp://b",
        agents_file="agents.toml",
        memory_redis_url="redis://c",
        recall_store="my_project:memory",
        database_url="sqlite:///d",
        tenant_daily_tokens=1,
        tenant_daily_usd=1,
        tenant_daily_turns=1,
        tenant_weights={"shop": 3},
        deliveries_file="deliveries.toml",
        schedules_file="schedules.toml",
        webhooks_file="webhooks.toml",
        session_root="sessions",
        metrics_port=1,
        http_requests=1,
        worker_processes=1,
        http_jwt_keys="keys.json",
        http_jwt_issuer="https://login.example",
        http_jwt_audience="symposia",
        public_url="https://symposia.example.com",
        notices_from="symposia@example.com",
    )
    handed_down = child_environment(everything).keys() - os.environ.keys()
    named = {f"SYMPOSIA_{name.upper()}" for name in Settings.model_fields}
    assert named <= handed_down | os.environ.keys()


def test_a_variable_that_the_agents_file_names_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", " key\n")
    assert read_variable("SOME_API_KEY") == "key"
    assert read_variable("NO_SUCH_API_KEY") is None


@pytest.mark.parametrize("name", ["redis_url", "broker_url", "memory_redis_url"])
@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("redis://db:6379/0?password=hu%2Fnter2", "redis://:hu%2Fnter2@db:6379/0"),
        ("rediss://db/0?username=u&password=pw&ssl_cert_reqs=none", "rediss://u:pw@db/0?ssl_cert_reqs=none"),
        ("redis://u:pw@[::1]:6379/0?password=other", "redis://u:pw@[::1]:6379/0"),
        ("redis://db:6379/0?socket_timeout=3", "redis://db:6379/0?socket_timeout=3"),
    ],
)
def test_url_option_credentials_move_to_userinfo(name: str, given: str, taken: str) -> None:
    assert getattr(load_settings(**{name: given}), name).get_secret_value() == taken


@pytest.mark.parametrize("name", ["redis_url", "broker_url"])
@pytest.mark.parametrize(
    "option",
    ["connection_class=os.system", "parser_class=x", "credential_provider=x", "host=elsewhere", "nonsense=1"],
)
def test_option_that_replaces_client_parts_is_refused(name: str, option: str) -> None:
    with pytest.raises(InvalidInput, match="has an unknown option; allowed: client_name, db, "):
        load_settings(**{name: f"redis://db/0?{option}"})


@pytest.mark.parametrize(
    "option", ["socket_timeout=soon", "db=zz", "protocol=9", "max_connections=-", "ssl_cert_reqs=maybe"]
)
def test_invalid_url_option_is_refused_early(option: str) -> None:
    with pytest.raises(InvalidInput, match="is not accepted by the Redis client: "):
        load_settings(redis_url=f"rediss://db/0?{option}")


@pytest.mark.parametrize("name", ["redis_url", "broker_url", "database_url"])
@pytest.mark.parametrize("host", ["[h", "[:::]", "pass[word@h"])
def test_malformed_url_is_refused(name: str, host: str) -> None:
    scheme = {"redis_url": "redis", "broker_url": "amqp", "database_url": "postgresql"}[name]
    with pytest.raises(InvalidInput, match=r"%5B"):
        load_settings(**{name: f"{scheme}://u:{host}/0"})


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("redis_url", "rediss://db/0?ssl_cert_reqs=\udcff"),
        ("memory_redis_url", "redis://:hunter\udcff@db/0"),
        ("broker_url", "amqp://user:hunter\udcff@rabbit//"),
        ("database_url", "postgresql://user:hunter\udcff@db/symposia"),
    ],
)
def test_invalid_utf8_url_is_refused_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, url: str
) -> None:
    monkeypatch.setenv(f"SYMPOSIA_{name.upper()}", url)
    with pytest.raises(InvalidInput, match=f"^SYMPOSIA_{name.upper()}: .*must be valid UTF-8") as caught:
        load_settings()
    assert "hunter" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("redis://:pw@db:6379/0?socket_timeout=3&client_name=x", "redis://:pw@db:6379/0"),
        ("redis://db:6379?db=2", "redis://db:6379/2"),
        ("rediss://db/0", "rediss://db/0?ssl_cert_reqs=required"),
        (
            "rediss://db/0?ssl_ca_certs=%2Fca.pem",
            "rediss://db/0?ssl_ca_certs=%2Fca.pem&ssl_cert_reqs=required",
        ),
        ("rediss://db/0?ssl_cert_reqs=none", "rediss://db/0?ssl_cert_reqs=none"),
        ("amqp://user:pw@rabbit//", "amqp://user:pw@rabbit//"),
    ],
)
def test_celery_url_keeps_options_and_checks_tls(url: str, told: str) -> None:
    assert to_celery_url(url) == told


def test_redis_cluster_needs_another_broker() -> None:
    with pytest.raises(InvalidInput) as refused:
        load_settings(redis_url="redis+cluster://:hunter2@a:7000,b:7000")
    assert str(refused.value) == (
        "SYMPOSIA_BROKER_URL: is required with the Redis Cluster redis+cluster://:***@a:7000,b:7000: "
        "Celery has no transport for it; use another broker, such as redis://host:6379/0 or amqp://host:5672// "
        "(got nothing)"
    )
    assert load_settings(redis_url="redis+cluster://a", broker_url="amqp://b//").redis_url is not None
    assert load_settings(memory_redis_url="redis+cluster://a").memory_redis_url is not None


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("redis+cluster://:hunter2@a:7000", "must not be a Redis Cluster: Celery has no transport for it"),
        ("sentinel://:hunter2@a:26379", "redis[+]sentinel://host:26379/mymaster/0"),
    ],
)
def test_a_broker_that_celery_cannot_use_is_refused(url: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule) as refused:
        load_settings(broker_url=url)
    assert "hunter2" not in str(refused.value)


def test_sentinel_credentials_may_be_url_options() -> None:
    url = "rediss+sentinel://a:1,b:2/main/1?sentinel_password=s3&password=p%2F4&ssl_ca_certs=%2Fca.pem"
    taken = load_settings(redis_url=url).redis_url
    assert taken is not None
    told = taken.get_secret_value()
    assert told == "rediss+sentinel://:p%2F4@a:1,b:2/main/1?sentinel_password=s3&ssl_ca_certs=%2Fca.pem"
    assert to_celery_url(told) == "sentinel://:p%2F4@a:1/1;sentinel://:p%2F4@b:2/1"
    tls = {"ssl_ca_certs": "/ca.pem", "ssl_cert_reqs": "required"}
    assert broker_tls(told) == tls
    options = sentinel_options(told)
    assert options["master_name"] == "main"
    assert options["sentinel_kwargs"].items() >= {"ssl": True, **tls}.items()
    assert options["sentinel_kwargs"]["credential_provider"].get_credentials() == ("s3",)
    assert "s3" not in repr(options)
    with pytest.raises(InvalidInput, match="has an unknown option; allowed:"):
        load_settings(redis_url="redis+cluster://a?sentinel_nonsense=1", broker_url="amqp://b//")
