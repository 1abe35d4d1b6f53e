"""`codemode serve`: programs for clients of the Model Context Protocol, over standard streams or HTTP."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Callable

import trio

from codemode.cli.approve import CommandLineApprover
from codemode.cli.options import add_json, add_limits, add_packages, add_tools, count
from codemode.cli.set_up import Tooling, limits_of, set_up
from codemode.cli.terminal import UsageError, say_error, write_json
from codemode.engine import CodeMode
from codemode.errors import SandboxUnavailable, SessionError

__all__ = ["DESCRIPTION", "add_arguments", "command"]

_TOKEN_VARIABLE = "CODEMODE_TOKEN"


DESCRIPTION = (
    "Serve run_code to a client of the Model Context Protocol: over standard input and output, or with --http to many "
    "clients. Exit code: 0 the client has gone, 1 it cannot serve, 2 wrong usage."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve streamable HTTP at http://HOST:PORT/mcp instead, for example 127.0.0.1:8000; port 0 is any",
    )
    parser.add_argument(
        "--token",
        metavar="TOKEN",
        help="what HTTP clients have to show (Authorization: Bearer TOKEN); required where others than this machine "
        f"can connect (default: ${_TOKEN_VARIABLE}, which other users of this machine cannot read)",
    )
    parser.add_argument(
        "--direct", action="store_true", help="also let clients call each tool itself, not only run_code"
    )
    parser.add_argument(
        "--max-runs",
        metavar="N",
        type=count,
        default=10,
        help="calls that go on at the same time; others wait (default: %(default)d)",
    )
    add_json(parser, 'with --http: print {"url": …} when it serves')
    add_tools(parser)
    add_packages(parser)
    add_limits(parser)


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code. Raises `UsageError`."""
    if options.json and options.http is None:
        raise UsageError("--json is for --http; without it standard output carries the protocol")
    try:
        importlib.import_module("codemode.mcp.server")
    except ImportError as error:
        raise UsageError(f"serve: {error}") from None
    serve: Callable[[argparse.Namespace], object] = _serve
    return trio.run(serve, options)  # type: ignore[arg-type]


async def _serve(options: argparse.Namespace) -> int:
    ended_by: list[int] = []
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(_watch_signals, nursery.cancel_scope, ended_by)
            async with set_up(options, None) as tooling:
                await _serve_tools(options, tooling)
            nursery.cancel_scope.cancel()
    except* (SandboxUnavailable, SessionError) as group:
        say_error("unusable", str(_first(group)), as_json=options.json)
        return_code = 1
    except* UsageError as group:
        say_error("usage", str(_first(group)), as_json=options.json)
        return_code = 2
    else:
        return_code = 128 + ended_by[0] if ended_by else 0
    return return_code


async def _serve_tools(options: argparse.Namespace, tooling: Tooling) -> None:
    from codemode.mcp.server import ProgramServer, serve_stdio

    registry = tooling.registry.scope(mode="both" if options.direct else "code")
    otherwise = "the client cannot ask its user; use one with the capability elicitation, or serve with"
    approver = CommandLineApprover(options.allow, None, otherwise)
    async with CodeMode(
        registry,
        limits=limits_of(options),
        session=options.session,
        approver=approver,
        packages=tooling.packages,
    ) as engine:
        tooling.begin(engine.session)
        server = ProgramServer(engine, max_runs=options.max_runs, approved=options.allow, ask_clients=True)
        if options.http is None:
            await serve_stdio(server)
        else:
            await _serve_http(options, server)


async def _serve_http(options: argparse.Namespace, server: object) -> None:
    from codemode.mcp.server import ProgramServer, TokenRequired, open_socket, serve_http

    assert isinstance(server, ProgramServer)
    host, port = _address(options.http)
    if options.token == "":
        raise UsageError(f"--token is empty; leave it out, or give one, best as ${_TOKEN_VARIABLE}")
    token = options.token or os.environ.get(_TOKEN_VARIABLE) or None
    try:
        listener = open_socket(host, port)
    except OSError as error:
        raise UsageError(f"--http {options.http}: {error.strerror or error}") from None
    problem = ""
    try:
        async with trio.open_nursery() as nursery:
            url = await nursery.start(
                lambda **status: serve_http(server, listener, host=host, token=token, **status)
            )
            if options.json:
                write_json({"url": url})
            else:
                print(f"codemode serves {url}", file=sys.stderr, flush=True)
    except* TokenRequired as group:
        problem = str(_first(group))
    if problem:
        raise UsageError(f"--http {options.http}: {problem}: --token TOKEN, or ${_TOKEN_VARIABLE}")


async def _watch_signals(
    scope: trio.CancelScope,
    ended_by: list[int],
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """End in order on SIGTERM and SIGHUP: runs are killed, logs are complete, nothing is left behind."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            ended_by.append(number)
            scope.cancel()


def _address(text: str) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if not separator or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise UsageError(f"--http {text}: write HOST:PORT, for example 127.0.0.1:8000")
    return host, int(port)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
