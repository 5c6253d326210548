"""Which variables of other programs ask for traces, hold secrets, or name the pull request of a CI job."""

from __future__ import annotations

import pytest

from symposia.config.secrets import known_secrets
from symposia.config.standard_variables import (
    find_pull_request,
    find_pull_request_text,
    load_telemetry_settings,
)

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


@pytest.mark.parametrize(
    ("variables", "exporters"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "shop"}, None),
        (ENDPOINT, ("otlp_proto_http",)),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/v1/traces"}, ("otlp_proto_http",)),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, ("otlp_proto_http",)),
        ({"OTEL_TRACES_EXPORTER": "console, otlp"}, ("console", "otlp_proto_http")),
        ({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ("otlp_proto_grpc",)),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, None),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, None),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "false"}, ("otlp_proto_http",)),
    ],
)
def test_variables_that_ask_for_traces(variables, exporters):
    settings = load_telemetry_settings(variables.get)
    assert (settings and settings.exporters) == exporters


@pytest.mark.parametrize(
    ("variables", "exporters"),
    [
        (ENDPOINT, ()),
        ({**ENDPOINT, "OTEL_METRICS_EXPORTER": "otlp"}, ("otlp_proto_http",)),
        ({**ENDPOINT, "OTEL_METRICS_EXPORTER": "none"}, ()),
        ({**ENDPOINT, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c/v1/metrics"}, ("otlp_proto_http",)),
    ],
)
def test_variables_that_ask_for_metrics(variables, exporters):
    settings = load_telemetry_settings(variables.get)
    assert settings is not None
    assert settings.metric_exporters == exporters


def test_service_name_and_content_are_read():
    settings = load_telemetry_settings(
        {
            **ENDPOINT,
            "OTEL_RESOURCE_ATTRIBUTES": "service.name=shop",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
        }.get
    )
    assert settings is not None
    assert (settings.has_service_name, settings.captures_content) == (True, True)


def test_headers_of_the_exporter_are_secrets(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=abc%20defg, tenant=shop-one")
    assert {"abc%20defg", "abc defg", "shop-one"} <= set(known_secrets([]))


@pytest.mark.parametrize(
    ("variables", "number"),
    [
        ({}, None),
        ({"GITHUB_REF": "refs/pull/12/merge"}, 12),
        ({"GITHUB_REF": "refs/pull/12/head"}, 12),
        ({"GITHUB_REF": "refs/heads/main"}, None),
        ({"GITHUB_REF": "refs/heads/refs/pull/12/merge"}, None),
        ({"CI_MERGE_REQUEST_IID": "7"}, 7),
        ({"CI_MERGE_REQUEST_IID": "7; rm"}, None),
        ({"CI_MERGE_REQUEST_IID": "²"}, None),
    ],
)
def test_pull_request_of_a_ci_job(variables, number):
    assert find_pull_request(variables.get) == number


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ('{"pull_request": {"title": "Faster", "body": "Why."}}', ("Faster", "Why.")),
        ('{"pull_request": {"title": "Faster", "body": null}}', ("Faster", "")),
        ('{"push": {}}', ("", "")),
        ("[]", ("", "")),
        ("no JSON", ("", "")),
    ],
)
def test_text_of_the_pull_request_of_a_ci_job(tmp_path, event, text):
    (tmp_path / "event.json").write_text(event)
    variables = {"GITHUB_EVENT_PATH": str(tmp_path / "event.json")}
    assert find_pull_request_text(variables.get) == text
    assert find_pull_request_text({}.get) == ("", "")
    assert find_pull_request_text({"CI_MERGE_REQUEST_TITLE": "One", **variables}.get) == ("One", "")
