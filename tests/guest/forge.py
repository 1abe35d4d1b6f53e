"""A zygote for tests, run as a script: the language alone, with no process wall around it.

Reads one JSON request per line (a program, its tools, its limits), forks a guest for each, plays the host
for it, and answers with one JSON line: logs, end, calls, cancels. Nothing else starts a guest unconfined.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
import types
from pathlib import Path
from typing import Any

PATH = json.loads(os.environ["FORGE_PATH"])
sys.path[:0] = PATH
# As in the real zygote, the package's own `__init__`, which is the host's, is not run.
package = types.ModuleType("codemode")
package.__path__ = [str(Path(PATH[0]) / "codemode")]
sys.modules["codemode"] = package

import msgspec  # noqa: E402

from codemode import wire  # noqa: E402
from codemode.guest import program  # noqa: E402
from codemode.values import freeze  # noqa: E402

TOOLS: dict[str, tuple[tuple[str, ...], bool]] = {
    "echo": (("x",), True),
    "add": (("a", "b"), False),
    "boom": (("message",), False),
    "slow": (("seconds", "value"), False),
    "rows": ((), False),
    "my-tool": (("value",), False),
    "odd": (("name", "self", "from", "args", "tool"), False),
    "never": ((), False),
}
ROWS = [{"id": 1, "name": "a", "tags": ["x", "y"]}, {"id": 2, "name": "b", "tags": []}]


def answer(name: str, arguments: dict[str, Any]) -> tuple[Any, float]:
    """The value of a call and after how many seconds it comes. Raises to fail."""
    if name == "echo":
        return arguments.get("x"), 0
    if name == "add":
        return arguments["a"] + arguments["b"], 0
    if name == "boom":
        raise RuntimeError(arguments.get("message", "boom"))
    if name == "slow":
        return arguments.get("value"), arguments["seconds"]
    if name == "rows":
        return ROWS, 0
    if name == "never":
        return None, 1e9
    return arguments, 0


def run(request: dict[str, Any]) -> dict[str, Any]:
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            ours.close()
            resource.setrlimit(resource.RLIMIT_CPU, (request["cpu"], request["cpu"] + 1))
            grown = request["memory"] + int(Path("/proc/self/statm").read_text().split()[0]) * 4096
            resource.setrlimit(resource.RLIMIT_AS, (grown, grown))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            sys.meta_path.clear()  # behind the process wall nothing can be imported any more
            if request.get("warm"):
                program.warm_up()
            program.serve(theirs.fileno())
        finally:
            os._exit(0)
    theirs.close()
    out: dict[str, Any] = {"logs": "", "kind": "exit", "message": "", "calls": [], "cancels": []}
    try:
        _play(ours, request, out)
    finally:
        ours.close()
        os.kill(child, signal.SIGKILL)
        out["status"] = os.waitpid(child, 0)[1]
    return out


def _play(channel: socket.socket, request: dict[str, Any], out: dict[str, Any]) -> None:
    tools = tuple(
        wire.ToolName(name, parameters, first, f"{name}({', '.join(parameters)})")
        for name, (parameters, first) in TOOLS.items()
        if name in request["tools"]
    )
    limits = wire.GuestLimits(request["log_bytes"], request["result_bytes"], request["error_bytes"])
    channel.sendall(
        wire.pack(wire.Program(request["source"].encode("utf-8", "replace").decode(), tools, limits))
    )
    reader = wire.FrameReader(1 << 28)
    waiting: list[tuple[float, int, Any]] = []
    end = time.monotonic() + request["wall"]
    while (now := time.monotonic()) < end:
        for due, number, value in [item for item in waiting if item[0] <= now]:
            waiting.remove((due, number, value))
            send(channel, wire.Value(number, msgspec.Raw(wire.encode_value(freeze(value)))))
        timeout = min([end, *(item[0] for item in waiting)]) - now
        if not select.select([channel], [], [], max(0.0, timeout))[0]:
            continue
        try:
            data = channel.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            return
        for body in reader.feed(data):
            frame = wire.from_guest(body)
            if isinstance(frame, wire.Log):
                out["logs"] += frame.text
            elif isinstance(frame, wire.Cancel):
                out["cancels"].append(frame.id)
                waiting[:] = [item for item in waiting if item[1] != frame.id]
            elif isinstance(frame, wire.Call):
                arguments = wire.decode_untrusted(frame.arguments)
                out["calls"].append([frame.name, arguments])
                try:
                    value, delay = answer(frame.name, arguments)
                except Exception as error:
                    send(channel, wire.Fault(frame.id, str(error), "E_BOOM"))
                else:
                    waiting.append((now + delay, frame.id, value))
            elif isinstance(frame, wire.Done):
                out["kind"] = "ok"
                if frame.value is not msgspec.UNSET:
                    out["result"] = wire.decode_untrusted(frame.value)
                return
            else:
                out["kind"], out["message"] = frame.kind, frame.message
                return
    out["kind"] = "wall"


def send(channel: socket.socket, frame: msgspec.Struct) -> None:
    with contextlib.suppress(ConnectionError):
        channel.sendall(wire.pack(frame))


def main() -> None:
    program.prepare()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(run(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
