"""Scopes over an engine: what is logged where, under which limits, and that a call knows its own."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from codemode import Call, CodeMode, Limits, Scope, Session, as_json, as_text, tool
from codemode.direct import ModelCall


@tool(render=as_json)
async def double(number: int, call: Call) -> int:
    """Double a number, and say so in the session."""
    call.record("own/doubled", {"number": number}, ignorable=True)
    return 2 * number


@tool(render=as_json)
def triple(number: int, call: Call) -> int:
    """Triple a number, in a thread."""
    call.record("own/tripled", {"number": number}, ignorable=True)
    return 3 * number


def types(session: Session) -> list[str]:
    return [event.type for event in session.events()]


async def test_a_scope_with_a_session_logs_everything_there():
    async with CodeMode([double, triple]) as cm, Session.open(None) as other:
        scope = cm.scope(session=other)
        assert scope.session is other
        assert cm.session is not other
        await scope.run("return tools.double(1) + tools.triple(1)")
        await scope.call("triple", {"number": 2})
        await scope.call_all([ModelCall(id="m", name="double", arguments={"number": 3})])
        within = scope.scope(deny=["triple"])
        await within.call("double", {"number": 4})
        assert types(cm.session) == []
        made = types(other)
        assert made.count("tool/call") == made.count("tool/result") == 4
        assert (made.count("run/start"), made.count("run/end")) == (1, 1)
        assert made.count("tool/code-dispatch") == 2
        assert [e.data["number"] for e in other.events() if e.type == "own/doubled"] == [1, 3, 4]
        assert [e.data["number"] for e in other.events() if e.type == "own/tripled"] == [1, 2]
        await cm.call("double", {"number": 5})
        assert types(cm.session) == ["tool/call", "tool/start", "own/doubled", "tool/result"]


async def test_a_scope_with_a_session_leaves_it_open(tmp_path):
    async with Session.open(tmp_path / "own") as other:
        async with CodeMode([double]) as cm:
            await cm.scope(session=other).call("double", {"number": 1})
            assert other.committed == other.next_seq
        other.append("own/after", {}, ignorable=True)


async def test_a_scope_with_limits_has_them_for_its_programs_and_says_so():
    async with CodeMode([double], limits=Limits(wall_seconds=50)) as cm:
        short = cm.scope(limits=Limits(wall_seconds=0.2, max_calls=1))
        assert "Limits: 0.2 s," in short.prompt()
        assert "Limits: 50 s," in cm.prompt()
        assert short.scope().limits.max_calls == 1
        assert cm.limits.wall_seconds == 50
        assert (await short.run("while True: pass")).error.kind == "timeout"
        assert (await short.run("tools.double(1); tools.double(2)")).error.kind == "call-limit"
        assert (await cm.run("tools.double(1); return tools.double(2)")).result == 4


async def test_a_call_knows_the_scope_that_it_was_made_in():
    seen: list[Any] = []

    @tool(render=as_text)
    async def where(call: Call) -> str:
        """Say where it was called."""
        seen.append(call.scope)
        return ""

    async with CodeMode([where]) as cm:
        scope = cm.scope()
        await cm.call("where", {})
        await scope.call("where", {})
        await scope.run("tools.where()")
        await scope.call_all([ModelCall(id="m", name="where", arguments={})])
        assert [each is scope for each in seen] == [False, True, True, True]
        assert seen[0] is cm
        assert isinstance(scope, Scope)
        assert scope.parent is cm
        assert cm.parent is None


async def test_what_is_allowed_for_a_run_is_known_by_session():
    asked: list[str] = []

    @tool(render=as_text, approval="it deletes")
    async def delete(path: str) -> str:
        """Delete."""
        return path

    def approver(requests: Any) -> str:
        asked.extend(each.arguments["path"] for each in requests)
        return "allow-for-run"

    async with CodeMode([delete], approver=approver) as cm, Session.open(None) as other:
        here, same, there = cm.scope(), cm.scope(session=other), cm.scope(session=other).scope()
        for scope in (here, same, there):
            code = "tools.delete('first')\ntools.delete('second')"
            call = ModelCall(id="id", name="run_code", arguments={"code": code, "description": "d"})
            (outcome,) = await scope.call_all([call])
            assert not outcome.is_error
        assert asked == ["first"] * 3


async def test_a_scope_with_an_approver_asks_it_and_so_do_the_scopes_over_it():
    @tool(render=as_text, approval="it deletes")
    async def delete(path: str) -> str:
        """Delete."""
        return path

    async with CodeMode([delete], approver=lambda requests: "deny") as cm, Session.open(None) as other:
        open_minded = cm.scope(approver=lambda requests: "allow-once")
        for scope in (open_minded, open_minded.scope(), open_minded.scope(session=other)):
            assert (await scope.run("return tools.delete('a')")).result == "a"
        for scope in (cm, cm.scope(), cm.scope(session=other)):
            assert (await scope.run("return tools.delete('a')")).error.kind == "exception"


async def test_tools_with_a_lifespan_are_entered_once_for_all_sessions():
    entered: list[str] = []

    class Needed:
        async def __aenter__(self) -> None:
            entered.append("in")

        async def __aexit__(self, *rest: object) -> None:
            entered.append("out")

    @tool(render=as_text, lifespan=Needed())
    async def use() -> str:
        """Use it."""
        return "used"

    async with CodeMode([use]) as cm, Session.open(None) as other:
        await cm.call("use", {})
        assert (await cm.scope(session=other).run("return tools.use()")).result == "used"
        assert entered == ["in"]
    assert entered == ["in", "out"]


@pytest.mark.parametrize("kind", ["run", "call"])
async def test_cancelled_in_a_scope_the_end_is_in_its_session(kind):
    begun = trio.Event()

    @tool(render=as_text)
    async def hang() -> str:
        """Hang."""
        begun.set()
        await trio.sleep_forever()
        return ""

    async with CodeMode([hang]) as cm, Session.open(None) as other:
        scope = cm.scope(session=other)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scope.run, "tools.hang()") if kind == "run" else nursery.start_soon(
                scope.call, "hang", {}
            )
            await begun.wait()
            nursery.cancel_scope.cancel()
        assert types(other)[-1] == "tool/result"
        assert types(cm.session) == []


class Recording:
    """An approver that is falsy as long as nobody was asked about."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def __len__(self):
        return len(self.asked)

    def __call__(self, requests):
        self.asked.extend(requests)
        return self.answer


async def test_an_approver_of_a_scope_that_is_falsy_is_asked_all_the_same():
    @tool(render=as_json, approval="it costs")
    async def pay() -> int:
        """Pay."""
        return 1

    outer, inner = Recording("allow-once"), Recording("deny")
    async with CodeMode([pay], approver=outer) as cm:
        outcome = await cm.scope(approver=inner).call("pay", {})
        assert outcome.is_error
        assert (len(outer), len(inner)) == (0, 1)
        with pytest.raises(TypeError, match="approver=5: must be a function"):
            cm.scope(approver=5)
