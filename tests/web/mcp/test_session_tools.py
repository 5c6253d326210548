"""Names and schemas of tools, and the session of a request."""

from __future__ import annotations

import jsonschema
import pytest

from symposia.cli.doctor.machine_checks import check_mcp_tools
from symposia.config.settings import load_settings
from symposia.errors import InvalidInput
from symposia.state.redis.connect import connect
from symposia.state.request_ids import RequestIdStore
from symposia.web.mcp.arguments import ListArguments
from symposia.web.mcp.forms import FormState
from symposia.web.mcp.results import result_schema
from symposia.web.mcp.session_tools import SessionTools
from symposia.web.mcp.tool_names import tool_names


def test_names_are_valid_for_the_protocol_and_for_models():
    assert tool_names(["stand up!", "é", "a.b"]) == {"stand_up_": "stand up!", "_": "é", "a_b": "a.b"}
    assert [len(name) for name in tool_names(["x" * 200])] == [64]


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        (["a b", "a_b"], "must differ from 'a b' as an MCP tool: both become 'a_b'"),
        (["get session"], "must not become the name of the MCP tool 'get_session' for all sessions"),
    ],
)
def test_two_tools_of_one_name_are_refused(files, rule):
    with pytest.raises(InvalidInput) as refused:
        tool_names(files)
    assert (refused.value.field, refused.value.rule) == ("jobs", rule)


def test_output_of_a_session_has_its_own_schema(tmp_path):
    (tmp_path / "poem.yaml").write_text(
        "title: t\npurpose: p\nmode: round_robin\nparticipants: [{participant_id: a, agent: echo}]\n"
        "output_schema: poem.json\n"
    )
    (tmp_path / "poem.json").write_text(
        '{"type": "object", "properties": {"line": {"$ref": "#/$defs/line"}}, "$defs": {"line": {"type": "string"}}}'
    )
    settings = load_settings(jobs={"poem": tmp_path / "poem.yaml"}, data_dir=tmp_path)
    tool = SessionTools.of(settings).list_tools()[0]
    jsonschema.Draft202012Validator.check_schema(tool.output_schema)
    assert tool.output_schema["$defs"]["line"] == {"type": "string"}
    assert tool.output_schema["properties"]["output"]["anyOf"][0]["properties"] == {
        "line": {"$ref": "#/$defs/line"}
    }
    (found,) = check_mcp_tools(settings)
    assert (found.text, found.advice) == ("1 session file as MCP tools", "")


@pytest.mark.parametrize(
    "output",
    [
        {"$ref": "#"},
        {"$ref": "https://example.com/schema"},
        {"$defs": {"QuestionData": {}}},
        {"$id": "x", "$defs": {}},
    ],
)
def test_schema_that_cannot_be_moved_is_any_value(output):
    assert result_schema(output) == result_schema()


def test_file_that_becomes_invalid_is_left_out(tmp_path):
    path = tmp_path / "poem.yaml"
    path.write_text("title: [")
    settings = load_settings(jobs={"poem": path}, data_dir=tmp_path)
    tools = SessionTools.of(settings)
    with pytest.raises(InvalidInput):
        tools.check()
    assert "poem" not in {tool.name for tool in tools.list_tools()}
    (found,) = check_mcp_tools(settings)
    assert "poem.yaml" in found.text


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '["a"]', "[" * 5_000, '["' + "a" * 2_000 + '", "b"]'])
def test_state_that_the_server_did_not_send_is_refused(text):
    with pytest.raises(InvalidInput, match="requestState"):
        FormState.decode(text)


def test_limit_of_a_list_is_checked():
    with pytest.raises(InvalidInput, match="limit"):
        ListArguments.read({"limit": 101})


def test_request_has_one_session_that_others_cannot_guess(redis_url):
    with connect(redis_url) as client:
        store = RequestIdStore(client)
        first = store.reserve("mcp", "shop", "ann", "poem", "1")
        assert store.reserve("mcp", "shop", "ann", "poem", "1") == first
        assert store.reserve("mcp", "shop", "annp", "oem", "1") != first
        (key,) = client.keys("symposia:request:*")[:1]
        assert 0 < client.ttl(key) <= 86_400
