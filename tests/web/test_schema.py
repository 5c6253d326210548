"""Requests that are made from the OpenAPI document: no answer differs from it, and none is a defect.

SYMPOSIA_TEST_EXAMPLES=1 makes many more.
"""

from __future__ import annotations

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi import checks

from servers.web import WebServer

IS_WHOLE = os.environ.get("SYMPOSIA_TEST_EXAMPLES") == "1"
schemathesis_settings = settings(
    max_examples=30 if IS_WHOLE else 3,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def document(server: WebServer):
    document = schemathesis.openapi.from_url(f"http://127.0.0.1:{server.port}/v1/openapi.json")
    # Hundreds of requests for each route, one for each bound of each field.
    document.config.phases.coverage.enabled = IS_WHOLE
    return document


schema = schemathesis.pytest.from_fixture("document")


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
@schema.parametrize()
@schemathesis_settings
def test_answers_fit_the_document(case: schemathesis.Case):
    # A value of the right type may break a rule that a schema does not have.
    case.call_and_validate(timeout=30, excluded_checks=[checks.positive_data_acceptance])
