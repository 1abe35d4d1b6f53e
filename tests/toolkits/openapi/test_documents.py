"""Documents: what becomes a tool, with which names and schemas, and what is left out and why."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest

from codemode import CodeMode, ToolDefinitionError
from codemode.toolkits.openapi import openapi
from tests.toolkits.openapi.api import Answer, document, one, parameter

BASE = "http://127.0.0.1:9"
OK = {"200": {"description": "ok"}}


def arguments(raw: dict) -> dict:
    (tool,) = openapi(raw, BASE)
    return tool.parameters.json_schema


def output(raw: dict) -> dict:
    (tool,) = openapi(raw, BASE)
    return tool.output.schema.json_schema


def answering(schema: object, version: str = "3.1.0", **more: object) -> dict:
    responses = {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}
    return {**one("/x", responses=responses), "openapi": version, **more}


def test_names_come_from_the_operation_or_from_method_and_path():
    raw = document(
        {
            "/a": {"get": {"operationId": "list-users", "responses": OK}},
            "/b/{id}": {"get": {"parameters": [parameter("id", "path")], "responses": OK}},
            "/c": {
                "get": {"operationId": "x.y", "responses": OK},
                "put": {"operationId": "x-y", "responses": OK},
            },
            "/d": {"get": {"operationId": "list-users", "responses": OK}},
        }
    )
    tools = openapi(raw, BASE, prefix="api")
    assert [tool.name for tool in tools] == ["api_list-users", "api_get_b_id", "api_x.y", "api_x-y"]
    assert tools.left_out == {"GET /d": "its operationId 'list-users' is that of GET /a too"}
    assert [tool.name for tool in openapi(raw, BASE, only=lambda method, path: path == "/a")] == [
        "list_users"
    ]


def test_arguments_have_the_parameters_schemas_and_say_what_is_required():
    raw = one(
        "/x/{id}",
        "post",
        summary="Make it.",
        description="Slowly.",
        deprecated=True,
        parameters=[
            parameter("id", "path", {"type": "integer"}, description="which one"),
            parameter("id", "query", {"type": "string"}),
            parameter("X-Trace", "header", {"type": "string"}, required=True),
            parameter("body", "query", {"type": "boolean"}),
        ],
        requestBody={"content": {"text/plain": {}, "application/json": {"schema": {"type": "array"}}}},
    )
    (tool,) = openapi(raw, BASE)
    assert tool.description == "Deprecated.\n\nMake it.\n\nSlowly."
    assert tool.parameters.json_schema == {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "description": "which one"},
            "id_query": {"type": "string"},
            "X_Trace": {"type": "string"},
            "body": {"type": "boolean"},
            "request_body": {"type": "array"},
        },
        "required": ["id", "X_Trace"],
        "additionalProperties": False,
    }


def test_parameters_of_the_path_are_overridden_by_the_operations():
    raw = one("/x", parameters=[parameter("a", "query", {"type": "integer"})])
    raw["paths"]["/x"]["parameters"] = [parameter("a", "query", {"type": "string"}), parameter("b", "query")]
    assert arguments(raw)["properties"] == {"a": {"type": "integer"}, "b": {}}


def test_references_become_definitions_also_where_they_lead_in_circles():
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/components/schemas/Node"}, "n": {"type": "integer"}},
    }
    schema = output(
        answering(
            {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
            components={"schemas": {"Node": node}},
        )
    )
    assert schema == {
        "type": "array",
        "items": {"$ref": "#/$defs/Node"},
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}},
            }
        },
    }


def test_everything_else_may_be_referred_to_as_well():
    components = {
        "parameters": {"P": parameter("p", "query", {"$ref": "#/components/schemas/S"})},
        "schemas": {"S": {"type": "string"}},
        "requestBodies": {
            "B": {"required": True, "content": {"application/json": {"schema": {"type": "null"}}}}
        },
        "responses": {"R": {"description": "ok", "content": {"text/plain": {"schema": {"type": "string"}}}}},
        "pathItems": {
            "I": {
                "post": {
                    "operationId": "it",
                    "parameters": [{"$ref": "#/components/parameters/P"}],
                    "requestBody": {"$ref": "#/components/requestBodies/B"},
                    "responses": {"200": {"$ref": "#/components/responses/R"}},
                }
            }
        },
    }
    raw = document({"/x": {"$ref": "#/components/pathItems/I"}}, components=components)
    (tool,) = openapi(raw, BASE)
    assert tool.signature == "it(p: Any = …, body: None)"
    assert tool.parameters.json_schema["$defs"] == {"S": {"type": "string"}}
    assert tool.output.schema.json_schema == {"type": "string"}


@pytest.mark.parametrize(
    ("given", "built"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
        (
            {"allOf": [{"$ref": "#/components/schemas/S"}], "nullable": True},
            {
                "anyOf": [{"allOf": [{"$ref": "#/$defs/S"}]}, {"type": "null"}],
                "$defs": {"S": {"type": "integer"}},
            },
        ),
        (
            {"$ref": "#/components/schemas/S", "nullable": True},
            {"$ref": "#/$defs/S", "$defs": {"S": {"type": "integer"}}},
        ),
        (
            {"type": "number", "minimum": 1, "exclusiveMinimum": True},
            {"type": "number", "exclusiveMinimum": 1},
        ),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": False}, {"type": "number", "maximum": 1}),
        (
            {"type": "integer", "format": "int64", "example": 1, "xml": {}, "x-note": 1},
            {"type": "integer"},
        ),
    ],
)
def test_the_words_of_3_0_are_translated(given, built):
    assert output(answering(given, "3.0.3", components={"schemas": {"S": {"type": "integer"}}})) == built


def test_what_is_read_only_is_no_part_of_a_request_and_what_is_write_only_none_of_a_response():
    user = {
        "type": "object",
        "required": ["id", "password"],
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "password": {"type": "string", "writeOnly": True},
        },
    }
    raw = one("/x", "post", requestBody={"content": {"application/json": {"schema": user}}})
    raw["paths"]["/x"]["post"]["responses"]["200"]["content"]["application/json"]["schema"] = user
    (tool,) = openapi(raw, BASE)
    body = tool.parameters.json_schema["properties"]["body"]
    assert (body["required"], list(body["properties"])) == (["password"], ["password"])
    value = tool.output.schema.json_schema
    assert (value["required"], list(value["properties"])) == (["id"], ["id"])


def test_several_successes_are_one_of_them_and_errors_do_not_count():
    def content(schema: object) -> dict:
        return {"description": "", "content": {"application/json": {"schema": schema}}}

    raw = one(
        "/x",
        responses={
            "200": content({"type": "integer"}),
            "201": content({"type": "string"}),
            "204": {"description": "nothing"},
            "default": content({"type": "object"}),
        },
    )
    assert output(raw) == {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}
    assert output(one("/x", responses={"default": content({"type": "object"})})) == {"type": "object"}
    assert output(one("/x", responses={})) == {}
    assert output(one("/x", responses={"200": {"description": "whatever"}})) == {}
    both = content({"type": "integer"})
    both["content"]["application/xml"] = {"schema": {"type": "integer"}}
    assert output(one("/x", responses={"200": both})) == {"type": "integer"}
    assert output(one("/x", responses={"200": {"description": "", "content": {"application/xml": {}}}})) == {
        "type": "string"
    }


def test_a_wrong_operation_is_reported_and_the_others_work(caplog):
    bad_content = {
        "200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "#/nowhere"}}}}
    }
    paths = {
        "/good": {"get": {"operationId": "good", "responses": OK}},
        "/ref": {"get": {"responses": bad_content}},
        "/item": {"$ref": "other.json#/x"},
        "/away": {"get": {"parameters": [{"$ref": "https://elsewhere.invalid/p.json"}], "responses": OK}},
        "/{missing}": {"get": {"responses": OK}},
        "/place": {"get": {"parameters": [{"name": "a", "in": "body", "schema": {}}], "responses": OK}},
        "/style": {"get": {"parameters": [parameter("a", "query", style="matrix")], "responses": OK}},
        "/noschema": {"get": {"parameters": [{"name": "a", "in": "query"}], "responses": OK}},
        "/list": {"get": ["no"]},
        "/type": {"get": {"parameters": [parameter("a", "query", {"type": "strin"})], "responses": OK}},
        "/pattern": {"get": {"parameters": [parameter("a", "query", {"pattern": "("})], "responses": OK}},
        "/circle": {"get": {"parameters": [{"$ref": "#/components/parameters/A"}], "responses": OK}},
        "/server": {"get": {"servers": [{"url": "https://elsewhere.invalid"}], "responses": OK}},
    }
    components = {"parameters": {"A": {"$ref": "#/components/parameters/A"}}}
    with caplog.at_level(logging.WARNING, "codemode.openapi"):
        tools = openapi(document(paths, components=components), BASE)
    assert [tool.name for tool in tools] == ["good"]
    why = tools.left_out
    assert set(why) == {f"GET {path}" for path in paths if path != "/good"}
    assert why["GET /ref"] == "the reference '#/nowhere' leads nowhere"
    assert "remote_references=True was not said" in why["GET /away"]
    assert why["GET /{missing}"] == "its path and its path parameters do not agree: missing"
    assert why["GET /style"] == "parameter 'a' has style 'matrix', which is none for a query"
    assert why["GET /circle"] == "the reference '#/components/parameters/A' leads in a circle"
    assert "another server" in why["GET /server"]
    assert len(caplog.records) == len(why)


def test_files_in_json_and_yaml_with_references_to_files_beside_them(tmp_path):
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "pet.yaml").write_text("Pet:\n  type: string\n  enum: [no, 2026-01-01]\n")
    (tmp_path.parent / "secret.json").write_text('{"type": "string"}')
    text = """
openapi: 3.0.0
info: {title: t, version: '1'}
servers: [{url: 'http://127.0.0.1:9/{v}', variables: {v: {default: v2}}}]
paths:
  /pet:
    get:
      operationId: pet
      responses:
        200:
          description: ok
          content: {application/json: {schema: {$ref: 'schemas/pet.yaml#/Pet'}}}
  /secret:
    get:
      responses:
        200: {description: ok, content: {application/json: {schema: {$ref: '../secret.json'}}}}
"""
    (tmp_path / "api.yaml").write_text(text)
    tools = openapi(tmp_path / "api.yaml")
    (tool,) = tools
    assert tool.output.schema.json_schema["$defs"] == {
        "Pet": {"type": "string", "enum": ["no", "2026-01-01"]}
    }
    assert "is not beneath the directory" in tools.left_out["GET /secret"]
    (tmp_path / "api.json").write_text(json.dumps(one("/x")))
    assert [each.name for each in openapi(str(tmp_path / "api.json"), BASE)] == ["it"]


def test_a_document_by_its_url_knows_its_server_and_takes_no_secret_elsewhere(api):
    api.json("/docs/api.json", {**one("/x"), "servers": [{"url": "/v1"}]})
    assert [tool.name for tool in openapi(f"{api.url}/docs/api.json")] == ["it"]
    api.json("/docs/api.json", {**one("/x"), "servers": [{"url": "https://elsewhere.invalid"}]})
    with pytest.raises(ToolDefinitionError, match="another server; if what authenticates"):
        openapi(f"{api.url}/docs/api.json", headers={"X-Key": "k"})
    with pytest.raises(ToolDefinitionError, match="answered with status 404"):
        api.answers["/none"] = Answer(b"", 404)
        openapi(f"{api.url}/none")


def test_references_to_other_addresses_are_followed_when_that_is_allowed(api):
    api.json("/p.json", {"type": "integer"})
    raw = one("/x", parameters=[parameter("p", "query", {"$ref": f"{api.url}/p.json"})])
    assert "remote_references" in openapi(raw, BASE).left_out["GET /x"]
    assert api.seen == []
    (tool,) = openapi(raw, BASE, remote_references=True)
    assert tool.parameters.json_schema["$defs"] == {"p_json": {"type": "integer"}}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"swagger": "2.0"}, "convert others first"),
        ({"openapi": "4.0.0"}, "3.0 and 3.1 can be read"),
        ({}, "None"),
        (one("/x"), "names no server"),
        ({**one("/x"), "servers": [{"url": "ftp://x"}]}, "no http or https address"),
        ({**one("/x"), "servers": [{"url": "https://{host}/"}]}, "no http or https address"),
    ],
)
def test_a_document_that_cannot_be_used_says_why(given, words):
    with pytest.raises(ToolDefinitionError, match=words):
        openapi(given)


def test_files_that_cannot_be_read_and_names_that_are_no_tool(tmp_path):
    with pytest.raises(ToolDefinitionError, match="cannot be read"):
        openapi(tmp_path / "none.json")
    (tmp_path / "bad.yaml").write_text("a: [")
    with pytest.raises(ToolDefinitionError, match="neither JSON nor YAML"):
        openapi(tmp_path / "bad.yaml")
    with pytest.raises(ToolDefinitionError, match="allow= names what is no tool here: other"):
        openapi(one("/x"), BASE, allow=["other"])


def test_without_the_extra_the_error_says_what_to_install():
    program = (
        "import sys\nsys.modules['openapi_pydantic'] = None\n"
        "try:\n    import codemode.toolkits.openapi\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == (
        "the openapi toolkit needs openapi_pydantic; install it with: pip install 'codemode[openapi]'\n"
    )


def test_the_signatures_and_stubs_of_its_tools_have_the_documents_types():
    node = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    raw = answering({"$ref": "#/components/schemas/Node"}, components={"schemas": {"Node": node}})
    prompt = CodeMode(openapi(raw, BASE)).prompt()
    assert "class Node(TypedDict):\n    n: int\n" in prompt
    assert "async def it() -> Node:" in prompt
