"""A server of the protocol that misbehaves on request; the standard library only, so that it starts at once.

`odd.py JOURNAL [BEHAVIOUR…]`: what it receives goes to the file JOURNAL, one line of JSON each.
"""

import json
import os
import signal
import sys
import time

journal = open(sys.argv[1], "a", buffering=1)  # noqa: SIM115 - for the whole process
behaviours = set(sys.argv[2:])
OBJECT = {"type": "object"}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

TOOLS = [
    {"name": "echo", "inputSchema": {"type": "object", "properties": {"value": {}}, "required": ["value"]}},
    {"name": "read-it", "inputSchema": OBJECT, "annotations": {"readOnlyHint": True}},
    {"name": "wipe", "inputSchema": OBJECT, "annotations": {"destructiveHint": True}},
    {"name": "typed", "inputSchema": {"type": "object", "properties": {"n": {}}}, "outputSchema": OUTPUT},
    {"name": "answer", "inputSchema": {"type": "object", "properties": {"result": OBJECT}}},
    {"name": "raw", "inputSchema": {"type": "object", "properties": {"line": {"type": "string"}}}},
    {"name": "big", "inputSchema": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    {"name": "twice", "inputSchema": OBJECT},
    {"name": "never", "inputSchema": OBJECT},
    {"name": "late", "inputSchema": OBJECT},
    {"name": "progress", "inputSchema": OBJECT},
    {"name": "die", "inputSchema": OBJECT},
    {"name": "noise", "inputSchema": OBJECT},
    {"name": "pid", "inputSchema": OBJECT},
    {"name": "flood", "inputSchema": OBJECT},
    {"name": "grow", "inputSchema": OBJECT},
]
WRONG = [
    {"name": "no-schema"},
    {"name": "", "inputSchema": OBJECT},
    {"inputSchema": OBJECT},
    "not a tool",
    {"name": "text-schema", "inputSchema": "object"},
    {"name": "array-schema", "inputSchema": {"type": "array"}},
    {"name": "echo", "inputSchema": OBJECT},
    {
        "name": "remote",
        "inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}},
    },
    {
        "name": "format",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "integer", "format": "uint8"}}},
    },
    {
        "name": "bad-output",
        "inputSchema": OBJECT,
        "outputSchema": {"type": "object", "properties": {"a": {"type": 5}}},
    },
]


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def listed():
    return TOOLS + (WRONG if "wrong" in behaviours else [])


def call(id_, name, arguments, meta):
    def answer(result):
        send({"id": id_, "result": result})

    if name == "echo":
        answer(
            {
                "content": [{"type": "text", "text": json.dumps(arguments["value"])}],
                "structuredContent": arguments,
            }
        )
    elif name == "answer":
        answer(arguments["result"])
    elif name == "typed":
        answer({"content": [], **({"structuredContent": {"n": arguments["n"]}} if "n" in arguments else {})})
    elif name == "raw":
        sys.stdout.write(arguments["line"].replace("ID", str(id_)) + "\n")
        sys.stdout.flush()
    elif name == "big":
        answer(text("x" * arguments["size"]))
    elif name == "twice":
        answer(text("first"))
        answer(text("second"))
    elif name == "late":
        late.append(id_)
    elif name == "progress":
        for step in range(6):
            time.sleep(0.25)
            params = {"progressToken": meta["progressToken"], "progress": step}
            send({"method": "notifications/progress", "params": params})
        answer(text("done"))
    elif name == "die":
        sys.stderr.write("out of \x1b[31mluck\n")
        sys.stderr.flush()
        os._exit(7)
    elif name == "noise":
        sys.stdout.write("Server listening!\n\n\x00\xff\n[1]\n")
        answer(text("heard"))
    elif name == "pid":
        answer(text(str(os.getpid())))
    elif name == "flood":
        for number in range(20_000):
            send({"method": "notifications/message", "params": {"level": "info", "data": number}})
        sys.stderr.write("y" * 1_000_000)
        answer(text("dry"))
    elif name == "grow":
        TOOLS.append({"name": f"grown{len(TOOLS)}", "inputSchema": OBJECT})
        TOOLS[:] = [each for each in TOOLS if each["name"] != "twice"]
        for _ in range(50):
            send({"method": "notifications/tools/list_changed"})
        answer(text("grown"))
    elif name not in ("never", "late"):
        answer(text(name))


late = []
if "stubborn" in behaviours:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "exit" in behaviours:
    sys.stderr.write("no licence found\n")
    sys.exit(3)
if "silent" in behaviours:
    time.sleep(3600)
for line in sys.stdin:
    message = json.loads(line)
    journal.write(line)
    method, id_ = message.get("method"), message.get("id")
    params = message.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}}
        send(
            {
                "id": id_,
                "result": {
                    **result,
                    "serverInfo": {"name": "odd", "version": "1"},
                    "instructions": "Be kind.",
                },
            }
        )
    elif method == "server/discover" and "touchy" in behaviours:
        sys.exit(1)
    elif method == "tools/list":
        if "pages" in behaviours and len(TOOLS) > 3:
            start = int(params.get("cursor", 0))
            page = {"tools": listed()[start : start + 5]}
            send(
                {
                    "id": id_,
                    "result": page | ({"nextCursor": str(start + 5)} if start + 5 < len(listed()) else {}),
                }
            )
        else:
            send({"id": id_, "result": {"tools": listed()}})
    elif method == "tools/call":
        call(id_, params["name"], params.get("arguments", {}), params.get("_meta", {}))
        if params["name"] != "late":
            for each in late:
                send({"id": each, "result": text("late")})
            late.clear()
    elif id_ is not None:
        send({"id": id_, "error": {"code": -32601, "message": f"no method {method}"}})
if "stubborn" in behaviours:
    time.sleep(3600)
