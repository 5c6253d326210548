"""The pull request of a CI job comes from the variables of its host."""

from __future__ import annotations

import pytest

from symposia.config.ci import find_pull_request


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
