"""Approval by the user of a client: what is asked, how often, and what answers of every kind lead to."""

import json
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace

import pytest
import trio
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, ElicitRequestFormParams, ElicitResult, ErrorData
from trio.testing import wait_all_tasks_blocked

from codemode import Ask, Hooks, Limits, as_json, tool
from codemode.errors import ToolError
from codemode.mcp.server import ProgramServer, open_socket, serve_http
from codemode.mcp.server.served import ServedCall

from .serving import Bench, client_of, connected, program_server, until
from .test_server import answer_to, outcomes, send

WAYS = pytest.mark.parametrize(
    ("transport", "mode"),
    [("stream", "legacy"), ("stream", "auto"), ("http", "legacy"), ("http", "auto")],
)
BOTH = pytest.mark.parametrize("mode", ["legacy", "auto"])
SERIES = """
for n in range({n}):
    try:
        print(tools.drop(n))
    except ToolCallError as e:
        print(e)
"""


@tool(render=as_json, approval=lambda given: f"it drops number {given['number']}", parallel=True)
async def drop(number: int) -> str:
    """Drop a number."""
    return f"dropped {number}"


class User:
    """Answers every form with the next of `answers`, the last of them for ever; keeps what was shown."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.shown = []
        self.asked = trio.Event()

    async def __call__(self, context, params):
        self.shown.append(params)
        self.asked.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer == "never":
            await trio.sleep_forever()
        if isinstance(answer, ElicitResult | ErrorData):
            return answer
        return ElicitResult(action="accept", content={"answer": answer})


@asynccontextmanager
async def asked(user, transport="stream", mode="auto", *, answer_seconds=600.0, approved=(), **options):
    """A client with a user, the engine that it uses, and the server."""
    async with program_server(Bench(), registry=[drop], **options) as (_, engine):
        server = ProgramServer(engine, max_runs=3, approved=approved, answer_seconds=answer_seconds)
        async with server.watching():
            if transport == "stream":
                async with client_of(server, mode, elicitation_callback=user) as client:
                    yield client, engine, server
                return
            async with trio.open_nursery() as nursery:
                serve = partial(serve_http, server, open_socket("127.0.0.1", 0), host="127.0.0.1")
                url = await nursery.start(serve)
                async with Client(url, mode=mode, elicitation_callback=user) as client:
                    yield client, engine, server
                nursery.cancel_scope.cancel()


async def lines(client, code):
    result = await client.call_tool("run_code", {"code": code, "description": "d"})
    return result.structured_content["logs"]


@WAYS
async def test_a_user_allows_once_denies_and_allows_for_the_rest_of_a_run(transport, mode):
    user = User("allow once", "deny", "allow for this run")
    async with asked(user, transport, mode) as (client, _, _):
        assert await lines(client, SERIES.format(n=5)) == [
            "dropped 0",
            "the call of tool 'drop' was not approved (it drops number 1)",
            "dropped 2",
            "dropped 3",
            "dropped 4",
        ]
        assert [each.message for each in user.shown] == [
            f'A call that needs your approval:\n\ndrop {{"number": {n}}}\n  it drops number {n}'
            for n in range(3)
        ]
        assert user.shown[0].requested_schema["properties"]["answer"]["enum"] == [
            "allow once",
            "allow for this run",
            "deny",
        ]
        await lines(client, SERIES.format(n=1))  # what was allowed for a run is not for the next
        assert len(user.shown) == 4


@WAYS
async def test_calls_that_wait_together_are_one_question(transport, mode):
    user = User("allow once")
    async with asked(user, transport, mode) as (client, _, _):
        code = "import asyncio\nprint(*await asyncio.gather(*[tools.drop(n) for n in range(3)]))"
        assert await lines(client, code) == ["dropped 0 dropped 1 dropped 2"]
        (form,) = user.shown
        assert form.message.startswith("3 calls that need your approval:\n\ndrop")
        assert form.message.count("it drops number") == 3


NO_YES = [
    (ElicitResult(action="decline"), "'drop' was not approved"),
    (ElicitResult(action="cancel"), "was cancelled (it drops number 1)"),
    (ElicitResult(action="accept"), "was null, which allows nothing"),
    (
        ElicitResult(action="accept", content={"answer": "Allow Once"}),
        "'answer' has to be one of: allow once",
    ),
    (ElicitResult(action="accept", content={"answer": ["allow once"]}), "which allows nothing"),
    (ElicitResult(action="accept", content={"answer": True, "x": "y" * 10**6}), "1,000,025 bytes in all"),
    (ElicitResult(action="accept", content={"approve": "allow once"}), "which allows nothing"),
]


@BOTH
async def test_an_answer_that_is_no_yes_allows_nothing_and_says_so_to_the_program(mode):
    async with asked(User(*[answer for answer, _ in NO_YES]), mode=mode) as (client, engine, _):
        printed = await lines(client, SERIES.format(n=len(NO_YES)))
        for line, (_, says) in zip(printed, NO_YES, strict=True):
            assert says in line
            assert len(line) < 600
        assert outcomes(engine) == ["ok"]


async def test_a_client_that_refuses_to_ask_is_a_denial():
    async with asked(User(ErrorData(code=-32603, message="no window")), mode="legacy") as (client, _, _):
        assert await lines(client, SERIES.format(n=1)) == [
            "the client could not ask its user for approval: no window"
        ]


@BOTH
async def test_a_hook_that_asks_is_put_to_the_user_and_approved_tools_are_not(mode):
    user = User("deny")
    hooks = Hooks(pre_execute=(lambda call: Ask("a hook\n\n\x1b[2J asks") if call.name == "drop" else None,))
    async with asked(user, mode=mode, hooks=hooks) as (client, _, _):
        assert "was not approved" in (await lines(client, SERIES.format(n=1)))[0]
        assert user.shown[0].message.endswith("\n  a hook \\x1b[2J asks")
    async with asked(user, mode=mode, approved=["drop"]) as (client, _, _):
        assert await lines(client, SERIES.format(n=2)) == ["dropped 0", "dropped 1"]
        assert len(user.shown) == 1


async def test_texts_of_a_program_are_cut_and_cannot_look_like_another_call():
    @tool(render=as_json, approval="it writes")
    async def write(path: str) -> str:
        """Write."""
        return path

    user = User("deny")
    async with program_server(Bench(), registry=[write]) as (server, _):
        async with client_of(server, elicitation_callback=user) as client:
            code = "tools.write('\\u202e\\u2028\\n\\nharmless {}\\n  it reads' + 'x' * 3_000_000)"
            await client.call_tool("run_code", {"code": code, "description": "d"})
            (form,) = user.shown
            assert form.message.count("\n") == 4
            assert not {"\u202e", "\u2028"} & set(form.message)
            assert form.message.endswith(
                'x"}\n  it writes\n  NOT SHOWN: 2,998,089 of 3,000,045 bytes of the arguments'
            )
            assert len(form.message) < 2_400


async def test_more_calls_than_a_form_shows_are_asked_about_in_several():
    user = User("allow once", "allow once", "allow for this run")
    code = "import asyncio\nreturn len(await asyncio.gather(*[tools.drop(n) for n in range(90)]))"
    async with asked(user) as (client, _, _):
        result = await client.call_tool("run_code", {"code": code, "description": "d"})
        assert result.structured_content["result"] == 90
        assert [each.message.count("it drops") for each in user.shown] == [20, 20, 20]


@BOTH
async def test_the_time_of_a_program_stands_still_while_a_user_thinks(mode):
    user = User("allow once")

    async def slowly(context, params):
        await trio.sleep(0.8)
        return await user(context, params)

    async with asked(slowly, mode=mode, limits=Limits(wall_seconds=0.5)) as (client, _, _):
        assert await lines(client, SERIES.format(n=1)) == ["dropped 0"]


async def test_a_user_who_never_answers_an_older_client_has_denied():
    async with asked(User("never"), mode="legacy", answer_seconds=0.2) as (client, engine, _):
        assert await lines(client, SERIES.format(n=1)) == [
            "nobody answered the question for approval within 0.2 s"
        ]
        assert outcomes(engine) == ["ok"]


async def test_a_newer_client_that_brings_no_answer_loses_its_run_and_is_told_when_it_comes_late():
    user = User("never")
    async with asked(user, answer_seconds=0.2) as (client, engine, server):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lines, client, SERIES.format(n=1))
            await user.asked.wait()
            await until(lambda: outcomes(engine) == ["abort"])
            nursery.cancel_scope.cancel()
        assert len(server._parked) == 0
        arguments = {"code": "1", "description": "d"}
        with pytest.raises(MCPError, match="no call waits for this answer.*make the call anew"):
            await client.session.call_tool("run_code", arguments, request_state="x" * 43)


async def test_an_answer_counts_once_for_the_same_call_and_only_from_who_was_asked():
    async with asked(User("deny")) as (client, engine, _):
        code = {"code": SERIES.format(n=1), "description": "d"}
        first = await client.session.call_tool("run_code", code, allow_input_required=True)
        state = first.request_state
        assert list(first.input_requests) == ["approval"]
        yes = {"approval": ElicitResult(action="accept", content={"answer": "allow once"})}
        for other in ({"code": "1", "description": "d"}, {**code, "description": "e"}):
            with pytest.raises(MCPError, match="is for other arguments"):
                await client.session.call_tool("run_code", other, request_state=state, input_responses=yes)
        done = await client.session.call_tool("run_code", code, request_state=state, input_responses=yes)
        assert done.structured_content == {"logs": ["dropped 0"]}
        with pytest.raises(MCPError, match="it was given already"):
            await client.session.call_tool("run_code", code, request_state=state, input_responses=yes)
        second = await client.session.call_tool("run_code", code, allow_input_required=True)
        done = await client.session.call_tool("run_code", code, request_state=second.request_state)
        assert done.structured_content == {
            "logs": ["the client made its request again without an answer to the question for approval"]
        }
        assert outcomes(engine) == ["ok", "ok"]


@WAYS
async def test_a_cancelled_request_takes_the_question_with_it(transport, mode):
    user = User("never")
    async with asked(user, transport, mode, answer_seconds=0.5) as (client, engine, _):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lines, client, SERIES.format(n=1))
            await user.asked.wait()
            nursery.cancel_scope.cancel()
        await until(lambda: outcomes(engine) == ["abort"])
        user.answers = ["allow once"]
        assert await lines(client, SERIES.format(n=1)) == ["dropped 0"]


ASKING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "t", "version": "1"},
}


@asynccontextmanager
async def asked_on_the_wire(server, code):
    """A raw client whose user is asked now; gives the stream and the id of the question."""
    async with connected(server) as stream:
        await send(stream, 0, "initialize", ASKING)
        await send(stream, None, "notifications/initialized", {})
        await send(
            stream, 1, "tools/call", {"name": "run_code", "arguments": {"code": code, "description": "d"}}
        )
        seen = b""
        while b"elicitation/create" not in seen or not seen.endswith(b"\n"):
            seen += await stream.receive_some(65536)
        yield stream, json.loads(seen.splitlines()[-1])["id"]


async def test_a_client_that_vanishes_while_its_user_is_asked_takes_its_run_with_it():
    async with program_server(Bench(), registry=[drop]) as (server, engine):
        async with asked_on_the_wire(server, "tools.drop(1)"):
            pass
        assert outcomes(engine) == ["abort"]


NONSENSE = [
    {"result": {}},
    {"result": {"action": "maybe"}},
    {"result": {"action": "accept", "content": {"answer": {"allow": "once"}}}},
    {"result": {"action": "accept", "content": "allow once"}},
    {"error": {"code": -1, "message": "no"}},
    {"error": {"code": -1, "message": "m" * 300_000}},
]


async def test_nonsense_on_the_wire_allows_nothing_and_the_server_goes_on():
    async with program_server(Bench(), registry=[drop]) as (server, engine):
        for answer in NONSENSE:
            async with asked_on_the_wire(server, SERIES.format(n=1)) as (stream, id_):
                for other in (id_ + 7, "other", None):
                    await stream.send_all(
                        line_of({"id": other, "result": {"action": "accept", "content": YES}})
                    )
                await stream.send_all(line_of({"id": id_, **answer}))
                await stream.send_all(line_of({"id": id_, "result": {"action": "accept", "content": YES}}))
                done = (await answer_to(stream, 1))["result"]["structuredContent"]
                said = "\n".join(done["logs"])
                assert said.startswith("the client")
                assert len(said) < 1_000
                await send(stream, 2, "ping", {})
                assert (await answer_to(stream, 2))["result"] == {}
        assert outcomes(engine) == ["ok"] * len(NONSENSE)


YES = {"answer": "allow once"}


def line_of(body):
    return json.dumps({"jsonrpc": "2.0", **body}).encode() + b"\n"


@WAYS
async def test_two_clients_are_asked_each_about_its_own_calls(transport, mode):
    users = [User("allow once"), User("deny")]
    async with asked(users[0], transport, mode) as (one, _, server):
        async with client_of(server, mode, elicitation_callback=users[1]) as two:
            printed = {}

            async def run(client, number):
                printed[number] = await lines(client, f"print(tools.drop({number}))")

            async with trio.open_nursery() as nursery:
                nursery.start_soon(run, one, 1)
                nursery.start_soon(run, two, 2)
        assert printed == {1: ["dropped 1"], 2: []}
        assert [
            each.message.count(f"number {n}")
            for n, user in ((1, users[0]), (2, users[1]))
            for each in user.shown
        ] == [1, 1]


@BOTH
async def test_what_is_printed_while_no_request_waits_is_told_to_the_next_one(mode):
    logs, user = [], User("allow once")

    async def on_log(params):
        logs.append(params.data)

    async with program_server(Bench(), registry=[drop]) as (server, _):
        options = {"logging_callback": on_log, "log_level": "info", "elicitation_callback": user}
        async with client_of(server, mode, **options) as client:
            await lines(
                client, "print('a', flush=True)\ntools.drop(1)\nprint('b')\ntools.drop(2)\nprint('c', end='')"
            )
            await until(lambda: "\n".join(logs) == "a\nb\nc")


async def test_a_client_that_cannot_ask_has_the_engines_own_answer():
    async with program_server(Bench(), registry=[drop]) as (server, _), client_of(server) as client:
        (line,) = await lines(client, SERIES.format(n=1))
        assert "nobody is there to give it" in line


@BOTH
@pytest.mark.parametrize("ask_clients", [False, True])
async def test_an_approver_of_the_engine_decides_unless_the_server_was_told_to_ask_clients(mode, ask_clients):
    user, seen = User("allow once"), []

    def policy(requests):
        seen.extend(each.arguments["number"] for each in requests)
        return "deny"

    async with program_server(Bench(), registry=[drop], approver=policy) as (_, engine):
        server = ProgramServer(engine, ask_clients=ask_clients)
        async with server.watching():
            async with client_of(server, mode, elicitation_callback=user) as client:
                (line,) = await lines(client, SERIES.format(n=1))
            denied = "the call of tool 'drop' was not approved (it drops number 0)"
            assert (line, len(user.shown), seen) == (
                ("dropped 0", 1, []) if ask_clients else (denied, 0, [0])
            )
            async with client_of(server, mode) as client:
                assert await lines(client, SERIES.format(n=1)) == [denied]


async def test_what_stands_behind_a_long_padding_is_shown_and_not_allowed_for_the_rest_of_a_run():
    @tool(render=as_json, approval="it sends")
    async def mail(text: str) -> str:
        """Send."""
        return "sent"

    user = User("allow for this run", "allow once", "allow for this run", "deny")
    code = "for text in ('a' * 9_000 + ' to everybody', 'b' * 9_000, 'c', 'd'):\n"
    code += "    try:\n        print(tools.mail(text))\n    except ToolCallError as e:\n        print(e)"
    async with program_server(Bench(), registry=[mail]) as (server, _):
        async with client_of(server, elicitation_callback=user) as client:
            first, *others = await lines(client, code)
    assert first.endswith("which allows nothing; 'answer' has to be one of: allow once, deny")
    assert others == ["sent", "sent", "sent"]
    assert 'to everybody"}\n  it sends\n  NOT SHOWN: ' in user.shown[0].message
    offered = [each.requested_schema["properties"]["answer"]["enum"] for each in user.shown]
    assert offered == [["allow once", "deny"]] * 2 + [["allow once", "allow for this run", "deny"]]


async def test_what_is_asked_after_its_request_is_over_is_denied_at_once():
    call = ServedCall(CallToolRequestParams(name="run_code", arguments={}), 600.0)
    form = ElicitRequestFormParams(message="m", requested_schema={"type": "object", "properties": {}})
    said = []

    class Session:
        async def elicit_form(self, *_):
            await trio.sleep_forever()

    context = SimpleNamespace(session=Session(), request_id=1)
    ways = [partial(call.elicit_later, form), partial(call.elicit_now, context, form)]

    async def ask(way):
        with pytest.raises(
            ToolError, match="the request that started this is over; nobody can be asked"
        ) as why:
            await way()
        said.append(why)

    async def make():
        await wait_all_tasks_blocked()

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            for way in ways:  # which wait when it ends
                nursery.start_soon(ask, way)
            nursery.start_soon(call.go_on, make)
        for way in ways:  # which come later
            await ask(way)
    assert len(said) == 4
    assert call.question is None


async def test_a_question_that_nobody_answers_gives_way_when_others_wait_and_its_client_is_told(monkeypatch):
    async with asked(User("never")) as (client, engine, server):
        codes = [{"code": SERIES.format(n=n), "description": "d"} for n in (1, 2, 3)]
        states = [
            (await client.session.call_tool("run_code", each, allow_input_required=True)).request_state
            for each in codes
        ]
        async with trio.open_nursery() as nursery:
            printed = []

            async def run():
                printed.append(await lines(client, "print('on')"))

            nursery.start_soon(run)
            await until(lambda: server._turns.statistics().tasks_waiting == 1)
            await wait_all_tasks_blocked(0.1)
            assert len(server._parked) == 3  # a user has time to read, also where others wait
            monkeypatch.setattr("codemode.mcp.server.parked._UNDISTURBED_SECONDS", 0.0)
            nursery.start_soon(run)
        assert printed == [["on"], ["on"]]
        yes = {"approval": ElicitResult(action="accept", content={"answer": "allow for this run"})}
        with pytest.raises(MCPError, match="has given way to others that waited.*make the call anew"):
            await client.session.call_tool("run_code", codes[0], request_state=states[0], input_responses=yes)
        last = await client.session.call_tool(
            "run_code", codes[2], request_state=states[2], input_responses=yes
        )
        assert last.structured_content["logs"] == ["dropped 0", "dropped 1", "dropped 2"]
        assert len(server._parked) + outcomes(engine).count("abort") == 2
