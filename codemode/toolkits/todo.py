"""`todo_write`: the list of what is to be done, kept in the session as a whole with each call.

The tool holds no state: the last `todo/write` event of a session is its list.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from codemode import Call, Text, Tool, ToolArgumentsError, text, tool

__all__ = ["todo"]

MAX_TODOS = 200
MAX_CONTENT_CHARACTERS = 1000


class Todo(TypedDict):
    content: Annotated[
        str, Meta(min_length=1, max_length=MAX_CONTENT_CHARACTERS, description="what is to be done")
    ]
    status: Annotated[Literal["pending", "in_progress", "completed"], Meta(description="how far it is")]


class Counts(TypedDict):
    pending: int
    inProgress: int
    completed: int


class TodoValue(TypedDict):
    todos: list[Todo]
    counts: Counts


Todos = Annotated[
    list[Todo], Meta(max_length=MAX_TODOS, description="the whole list, also what has not changed")
]


def todo(*, one_at_a_time: bool = False) -> list[Tool]:
    """Return the tool `todo_write`. With `one_at_a_time`, at most one entry may be in progress.

    It needs a session to write to: without one a call fails with NO_SESSION.
    """

    @tool(render=_render, presentation_meta=_meta, read_only=True, timeout=10)
    async def todo_write(todos: Todos, call: Call) -> TodoValue:
        """Replace the list of what is to be done, to plan work of several steps and to show how far it is.

        Give the whole list each time. Mark an entry in_progress before its work begins and completed as soon
        as it is done. No two entries have the same content.
        """
        entries = [Todo(content=each["content"].strip(), status=each["status"]) for each in todos]
        seen: set[str] = set()
        for index, entry in enumerate(entries):
            if not entry["content"]:
                raise ToolArgumentsError(f"todos[{index}].content is blank; say what is to be done")
            if entry["content"] in seen:
                raise ToolArgumentsError(f"todos[{index}].content is there twice: {entry['content']!r}")
            seen.add(entry["content"])
        counts = dict.fromkeys(("pending", "in_progress", "completed"), 0)
        for entry in entries:
            counts[entry["status"]] += 1
        if one_at_a_time and counts["in_progress"] > 1:
            raise ToolArgumentsError(
                f"{counts['in_progress']} entries are in_progress; at most one may be at a time"
            )
        call.record("todo/write", {"todos": entries})
        return {
            "todos": entries,
            "counts": {
                "pending": counts["pending"],
                "inProgress": counts["in_progress"],
                "completed": counts["completed"],
            },
        }

    return [todo_write]


def _render(arguments: object, value: TodoValue) -> list[Text]:
    counts = value["counts"]
    return [
        text(
            f"Updated todo list: {counts['pending']} pending, {counts['inProgress']} in progress, "
            f"{counts['completed']} completed."
        )
    ]


def _meta(arguments: object, value: TodoValue) -> dict[str, Any]:
    return {"todos": value["todos"]}
