"""Code written with threads in mind, run one call after another.

`ThreadPoolExecutor`, `Thread` and the locks keep their interface; there is one thread, so what is started
is finished before the starter goes on. Nothing here blocks.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from codemode.guest.running import run
from codemode.guest.running.without_ssl import asyncio

__all__ = ["FUTURES", "THREADING"]


def _call(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function; what it returns unfinished, a coroutine or a tool call, is brought to its end."""
    result = function(*args, **kwargs)
    if asyncio.iscoroutine(result) or isinstance(result, asyncio.Future):
        return run.current().loop.run_nested(result)
    return result


class Future:
    """The outcome of a call that has been made."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._error: BaseException | None = None
        self._result: Any = None
        try:
            self._result = _call(function, args, kwargs)
        except Exception as error:
            self._error = error

    def result(self, timeout: float | None = None) -> Any:
        if self._error is not None:
            raise self._error
        return self._result

    def exception(self, timeout: float | None = None) -> BaseException | None:
        return self._error

    def add_done_callback(self, function: Callable[[Any], Any]) -> None:
        function(self)

    def done(self) -> bool:
        return True

    def running(self) -> bool:
        return False

    def cancelled(self) -> bool:
        return False

    def cancel(self) -> bool:
        return False


class Executor:
    """Makes each call when it is submitted."""

    def __init__(self, max_workers: int | None = None, **options: Any) -> None:
        pass

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        return Future(fn, args, kwargs)

    def map(
        self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: Any = None, chunksize: int = 1
    ) -> Any:
        futures = [self.submit(fn, *args) for args in zip(*iterables, strict=False)]
        return (future.result() for future in futures)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        pass

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass


class ThreadPoolExecutor(Executor):
    """The pool of a program that has one thread."""


def as_completed(fs: Iterable[Any], timeout: float | None = None) -> Iterator[Any]:
    """Return the futures; all are done."""
    return iter(list(fs))


def wait(
    fs: Iterable[Any], timeout: float | None = None, return_when: str = "ALL_COMPLETED"
) -> tuple[set[Any], set[Any]]:
    """Return the futures as (done, not done); all are done."""
    return set(fs), set()


class Lock:
    """A lock that nobody else can hold."""

    def __init__(self) -> None:
        self._held = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._held and not self._reentrant:
            if blocking and timeout < 0:
                raise RuntimeError("this lock is held already, and there is no other thread to release it")
            return False
        self._held += 1
        return True

    def release(self) -> None:
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held -= 1

    def locked(self) -> bool:
        return self._held > 0

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exc_info: object) -> None:
        self.release()

    _reentrant = False


class RLock(Lock):
    """A lock that its holder can take again."""

    _reentrant = True


class Semaphore:
    """A counter that does not go below zero."""

    def __init__(self, value: int = 1) -> None:
        self._value = value

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        if self._value <= 0:
            if blocking and timeout is None:
                raise RuntimeError("this semaphore is used up, and there is no other thread to release it")
            return False
        self._value -= 1
        return True

    def release(self, n: int = 1) -> None:
        self._value += n

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exc_info: object) -> None:
        self.release()


class Event:
    """A flag."""

    def __init__(self) -> None:
        self._flag = False

    def is_set(self) -> bool:
        return self._flag

    def set(self) -> None:
        self._flag = True

    def clear(self) -> None:
        self._flag = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._flag and timeout is None:
            raise RuntimeError("this event is not set, and there is no other thread to set it")
        return self._flag


class Thread:
    """Runs its target when it is started."""

    def __init__(
        self,
        group: None = None,
        target: Callable[..., Any] | None = None,
        name: str | None = None,
        args: Iterable[Any] = (),
        kwargs: Any = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        self._target = target
        self._args = tuple(args)
        self._kwargs = dict(kwargs or {})
        self.name = name or "Thread-1"
        self.daemon = bool(daemon)

    def run(self) -> None:
        if self._target is not None:
            _call(self._target, self._args, self._kwargs)

    def start(self) -> None:
        self.run()

    def join(self, timeout: float | None = None) -> None:
        pass

    def is_alive(self) -> bool:
        return False


class Local:
    """Attributes of the one thread there is."""


def get_ident() -> int:
    """Return the number of the one thread there is."""
    return 1


Executor.__module__ = ThreadPoolExecutor.__module__ = Future.__module__ = "concurrent.futures"
for _class in (Lock, RLock, Semaphore, Event, Thread, Local):
    _class.__module__ = "threading"

FUTURES: dict[str, Any] = {
    "ALL_COMPLETED": concurrent.futures.ALL_COMPLETED,
    "CancelledError": concurrent.futures.CancelledError,
    "Executor": Executor,
    "FIRST_COMPLETED": concurrent.futures.FIRST_COMPLETED,
    "FIRST_EXCEPTION": concurrent.futures.FIRST_EXCEPTION,
    "Future": Future,
    "ProcessPoolExecutor": ThreadPoolExecutor,
    "ThreadPoolExecutor": ThreadPoolExecutor,
    "TimeoutError": TimeoutError,
    "as_completed": as_completed,
    "wait": wait,
}

THREADING: dict[str, Any] = {
    "BoundedSemaphore": Semaphore,
    "Event": Event,
    "Lock": Lock,
    "RLock": RLock,
    "Semaphore": Semaphore,
    "Thread": Thread,
    "get_ident": get_ident,
    "local": Local,
}
