"""`--openapi`: an HTTP API as tools, from the command line, of each command that has tools."""

import json

import pytest

from codemode.cli import main
from codemode.cli.main import parser_of
from codemode.cli.openapi import Api as Asked
from codemode.cli.openapi import openapi_tools
from codemode.cli.terminal import UsageError
from tests.toolkits.openapi.api import Answer, Api, document, parameter

ITEM = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "integer"}}}}}
DOCUMENT = document(
    {
        "/items/{name}": {
            "parameters": [parameter("name", "path", {"type": "string"})],
            "get": {"operationId": "count", "summary": "How many.", "responses": ITEM},
            "delete": {"operationId": "drop", "responses": ITEM},
        }
    }
)


@pytest.fixture
def api(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = Api()
    server.json("/items/apple", 3)
    server.answers["/api.json"] = Answer(json.dumps({**DOCUMENT, "servers": [{"url": server.url}]}).encode())
    yield server
    server.close()


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "api.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "p.py").write_text("return tools.count(name='apple')\n")
    return tmp_path


def parsed(*arguments):
    return parser_of(["run"]).parse_args(["run", "p.py", *arguments]).openapi


def told(capsys, *arguments):
    try:
        code = main(list(arguments))
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_program_calls_the_api_with_what_the_environment_holds(place, api, capsys, monkeypatch):
    monkeypatch.setenv("STOCK_TOKEN", "sesame")
    monkeypatch.setenv("STOCK_KEY", "k e y")
    options = ("--openapi-token", "STOCK_TOKEN", "--openapi-header", "X-Api-Key=STOCK_KEY")
    code, out, err = told(capsys, "run", "p.py", "--openapi", "api.json", "--openapi-url", api.url, *options)
    assert (code, out, err) == (0, "3\n", "")
    (seen,) = api.seen
    assert (seen.target, seen.headers["authorization"]) == ("/items/apple", "Bearer sesame")
    assert seen.headers["x-api-key"] == "k e y"


def test_a_document_by_its_url_and_a_prefix_and_what_needs_approval(place, api, capsys):
    (place / "q.py").write_text("print(tools.stock_count(name='apple'))\ntools.stock_drop(name='apple')\n")
    given = ("--json", "--openapi", f"stock={api.url}/api.json")
    code, out, _ = told(capsys, "run", "q.py", *given, "--allow", "stock_drop")
    assert (code, json.loads(out)["logs"]) == (0, ["3"])
    assert [each.method for each in api.seen] == ["GET", "GET", "DELETE"]


def test_only_the_operations_that_are_named(place, api, capsys):
    given = ("--openapi", "api.json", "--openapi-url", api.url, "--openapi-only", "count")
    code, out, _ = told(capsys, "prompt", *given)
    assert (code, "def count(" in out, "def drop(" in out) == (0, True, False)
    code, out, _ = told(capsys, "check", "p.py", *given)
    assert (code, out) == (0, "")
    code, _, _ = told(capsys, "stubs", "-o", "out", *given)
    assert (code, "def count(" in (place / "out/stubs/codemode_tools.pyi").read_text("utf-8")) == (0, True)
    assert api.seen == []


def test_each_option_is_about_the_document_before_it():
    asked = parsed(
        "--openapi", "a=one.json", "--openapi-token", "ONE", "--openapi-only", "a_x", "--openapi-only", "a_y",
        "--openapi", "https://host/api?v=2", "--openapi-url", "https://other",
    )  # fmt: skip
    assert asked == [
        Asked("one.json", "a", token="ONE", only=("a_x", "a_y")),
        Asked("https://host/api?v=2", url="https://other"),
    ]
    assert parsed() == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--openapi-token", "T"], "it is about the --openapi before it, and there is none"),
        (["--openapi", "api.json"], "names no server with its address; say --openapi-url 'https://…'"),
        (["--openapi", "absent.json"], "--openapi absent.json: "),
        (["--openapi", "p.py", "--openapi-url", "http://h"], "--openapi p.py: "),
        (["--openapi", "api.json", "--openapi-url", "ftp://h"], "no http or https address"),
        (["--openapi", "api.json", "--openapi-token", "s3cr3t!"], "not the token itself"),
        (["--openapi", "api.json", "--openapi-token", "NO_SUCH"], "no variable NO_SUCH; set it"),
        (["--openapi", "api.json", "--openapi-token", "BROKEN"], "characters that no header can hold"),
        (["--openapi", "api.json", "--openapi-header", "X-Key: s3cr3t!"], "write NAME=VARIABLE"),
        (
            ["--openapi", "api.json", "--openapi-url", "http://h", "--openapi-only", "get"],
            "there are: count, drop",
        ),
        (["--openapi", "api.json", "--openapi-url", "http://h"] * 2, "there is a tool 'count' already"),
        (["--openapi", "http://127.0.0.1:9/api.json"], "--openapi http://127.0.0.1:9/api.json: "),
    ],
)
def test_what_is_wrong_is_said_with_the_option_and_without_secrets(place, capsys, monkeypatch, options, says):
    monkeypatch.setenv("BROKEN", "a\r\nX-Other: b")
    code, out, err = told(capsys, "run", "p.py", *options)
    assert (code, out) == (2, "")
    assert says in err
    assert "s3cr3t!" not in err
    assert "Traceback" not in err


async def test_without_the_extra_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "codemode.toolkits.openapi", None)
    with pytest.raises(UsageError, match="--openapi: "):
        await openapi_tools(Asked("x.json"))
