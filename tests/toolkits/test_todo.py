from __future__ import annotations

import pytest

from codemode import CodeMode, Session
from codemode.toolkits import todo
from codemode.tools.pipeline import Pipeline
from codemode.tools.registry import Registry
from tests.toolkits.calling import both, failure, program_failure, shown

TODOS = [
    {"content": " read ", "status": "completed"},
    {"content": "write", "status": "in_progress"},
    {"content": "test", "status": "pending"},
    {"content": "ship", "status": "pending"},
]


async def test_the_value_has_the_list_and_its_counts_and_the_session_keeps_the_list(tmp_path):
    async with CodeMode(todo(), session=tmp_path / "calls.db") as cm:
        assert await both(cm, "todo_write", todos=TODOS) == {
            "todos": [{"content": "read", "status": "completed"}, *TODOS[1:]],
            "counts": {"pending": 2, "inProgress": 1, "completed": 1},
        }
        text = await shown(cm, "todo_write", todos=TODOS)
        assert text == "Updated todo list: 2 pending, 1 in progress, 1 completed."
        assert (await cm.call("todo_write", {"todos": TODOS[1:2]})).meta == {"todos": TODOS[1:2]}
        assert await both(cm, "todo_write", todos=[]) == {
            "todos": [],
            "counts": {"pending": 0, "inProgress": 0, "completed": 0},
        }
    with Session.read(tmp_path / "calls.db") as log:
        written = [event.data["todos"] for event in log.events() if event.type == "todo/write"]
    assert [len(todos) for todos in written] == [4, 4, 4, 1, 0, 0]
    assert written[0][0] == {"content": "read", "status": "completed"}


@pytest.mark.parametrize(
    ("todos", "says"),
    [
        ([{"content": "  ", "status": "pending"}], "todos[0].content is blank"),
        ([{"content": "", "status": "pending"}], "todos[0].content"),
        ([{"content": "a", "status": "pending"}, {"content": " a", "status": "completed"}], "twice: 'a'"),
        ([{"content": "a", "status": "done"}], "todos[0].status"),
        ([{"content": "a"}], "status"),
        ([{"content": "x" * 1001, "status": "pending"}], "1000"),
        ([{"content": str(n), "status": "pending"} for n in range(201)], "200"),
        ("a", "todos"),
    ],
)
async def test_a_list_that_cannot_be_used_is_refused_and_nothing_is_written(todos, says):
    async with CodeMode(todo()) as cm:
        error = await failure(cm, "todo_write", todos=todos)
        assert error.code == "INVALID_ARGUMENTS"
        assert says in error.message
        assert (await program_failure(cm, "todo_write", todos=todos))[0] == "INVALID_ARGUMENTS"
        assert [event for event in cm.session.events() if event.type == "todo/write"] == []


async def test_one_at_a_time_is_a_choice():
    two = [{"content": name, "status": "in_progress"} for name in "ab"]
    async with CodeMode(todo()) as cm:
        assert (await both(cm, "todo_write", todos=two))["counts"]["inProgress"] == 2
    async with CodeMode(todo(one_at_a_time=True)) as cm:
        assert "at most one" in (await failure(cm, "todo_write", todos=two)).message
        assert (await both(cm, "todo_write", todos=two[:1]))["counts"]["inProgress"] == 1


async def test_without_a_session_it_says_so():
    outcome = await Pipeline(Registry(todo())).execute("todo_write", {"todos": TODOS}, id="1")
    assert outcome.error.code == "NO_SESSION"
