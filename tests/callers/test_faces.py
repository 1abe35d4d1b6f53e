"""The three faces are one: the same names with the same parameters, wherever they can be the same."""

from __future__ import annotations

import inspect

import pytest

import codemode
import codemode.asyncio
import codemode.sync
from codemode.session import Session

NOT_OF_THREADS = {"registry"}  # it is changed in the engine's own thread alone
OF_THE_LOOP = {"open", "read", "restore", "committed", "pending_bytes"}


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def parameters(function: object) -> list[tuple[str, object, object]]:
    return [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("face", [codemode.sync, codemode.asyncio])
@pytest.mark.parametrize("name", ["CodeMode", "Scope"])
def test_the_faces_have_the_same_methods(face, name):
    theirs, ours = getattr(codemode, name), getattr(face, name)
    assert public(ours) == public(theirs) - NOT_OF_THREADS
    for method in public(ours):
        one, other = inspect.getattr_static(theirs, method), inspect.getattr_static(ours, method)
        assert isinstance(one, property) == isinstance(other, property)
        if not isinstance(one, property):
            assert parameters(one) == parameters(other), method
    assert parameters(theirs.__init__)[1:] == parameters(ours.__init__)[1:] or name == "Scope"


@pytest.mark.parametrize("face", [codemode.sync, codemode.asyncio])
def test_the_sessions_have_the_same_methods(face):
    assert public(face.Session) == (public(Session) - OF_THE_LOOP) | {"of"}
    for method in public(face.Session) - {"of"}:
        one, other = inspect.getattr_static(Session, method), inspect.getattr_static(face.Session, method)
        if not isinstance(one, property):
            assert parameters(one) == parameters(other), method


def test_what_waits_is_a_coroutine_in_asyncio_and_a_function_without():
    for name in ("run", "call", "call_all"):
        assert inspect.iscoroutinefunction(getattr(codemode.asyncio.CodeMode, name))
        assert not inspect.iscoroutinefunction(getattr(codemode.sync.CodeMode, name))


def test_tools_and_hooks_are_made_with_the_same_words():
    for name in ("tool", "Tool", "Hooks"):
        assert parameters(getattr(codemode.asyncio, name)) == parameters(getattr(codemode, name))
    assert parameters(codemode.sync.Hooks) == parameters(codemode.Hooks)


def test_both_kinds_of_face_leave_the_standard_library_its_name():
    import asyncio

    assert asyncio is not codemode.asyncio
    assert codemode.asyncio.engine.asyncio is asyncio
