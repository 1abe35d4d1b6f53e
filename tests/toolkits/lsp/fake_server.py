"""A language server that does as its first argument says. Run as a script.

It answers definitions with the place of the question itself, moved down by how often it was asked, so that a
test sees which question was answered; and keeps what it was told in the file that its second argument names.
"""

import json
import os
import subprocess
import sys
import time

behaviour, journal = sys.argv[1], sys.argv[2]
out, asked = sys.stdout.buffer, 0


def send(**message):
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    out.write(b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n%s" % (len(data), data))
    out.flush()


def note(text):
    with open(journal, "a") as file:
        file.write(text + "\n")


def starts():
    with open(journal) as file:
        return file.read().count("start")


def progress(kind, token="t"):
    send(method="$/progress", params={"token": token, "value": {"kind": kind, "title": "indexing"}})


def location(parameters, line=0):
    return {
        "uri": parameters["textDocument"]["uri"],
        "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}},
    }


def main():
    global asked
    note(f"start {os.getpid()} {os.environ.get('SECRET_TOKEN')}")
    if behaviour == "dies-at-start":
        sys.exit("no licence")
    if behaviour == "has-a-child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        note(f"child {child.pid}")
    while True:
        length = 0
        while line := sys.stdin.buffer.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            if behaviour == "ignores-the-end":
                time.sleep(1000)
            return
        message = json.loads(sys.stdin.buffer.read(length))
        method, parameters, id = message.get("method"), message.get("params"), message.get("id")
        if method is None:
            note(f"answer {json.dumps(message.get('result', message.get('error')))}")
        elif method == "initialize":
            if behaviour == "refuses":
                send(id=id, error={"code": -1, "message": "wrong version"})
                continue
            capabilities = {"definitionProvider": True, "hoverProvider": {}, "referencesProvider": True}
            send(id=id, result={"capabilities": capabilities})
        elif method == "initialized":
            if behaviour == "asks":
                send(
                    id=900,
                    method="workspace/configuration",
                    params={"items": [{"section": "fake.depth"}, {"section": "none"}]},
                )
                send(id=901, method="workspace/applyEdit", params={})
                send(id=902, method="workspace/workspaceFolders")
                send(id=903, method="workspace/configuration", params=7)
            if behaviour == "indexes":
                progress("begin")
        elif method == "shutdown":
            if behaviour == "ignores-the-end":
                continue
            note("shutdown")
            send(id=id, result=None)
        elif method == "exit":
            if behaviour != "ignores-the-end":
                return
        elif method in ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"):
            item = parameters["textDocument"]
            text = item.get("text", parameters.get("contentChanges", [{}])[0].get("text"))
            note(f"{method.split('/')[1]} {os.path.basename(item['uri'])} {item.get('version')} {text!r}")
        elif method == "workspace/didChangeWatchedFiles":
            changes = sorted((os.path.basename(c["uri"]), c["type"]) for c in parameters["changes"])
            note(f"changes {json.dumps(changes)}")
        elif method == "$/cancelRequest":
            note("cancelled")
        elif method.startswith("textDocument/"):
            asked += 1
            note(f"position {json.dumps(parameters['position'])}")
            answer(method, id, parameters)


def answer(method, id, parameters):
    if behaviour == "crashes" or (behaviour == "crashes-once" and starts() == 1):
        os.kill(os.getpid(), 9)
    elif behaviour == "hangs":
        time.sleep(1000)
    elif behaviour == "silent":
        pass
    elif behaviour == "garbage":
        out.write(b"HTTP/1.1 200 OK\r\n\r\n")
        out.flush()
    elif behaviour == "huge":
        out.write(b"Content-Length: 99999999999\r\n\r\n")
        out.flush()
    elif behaviour == "flood":
        while True:
            out.write(b"x" * 65536)
    elif behaviour == "busy" and asked < 3:
        send(id=id, error={"code": -32801, "message": "content modified"})
    elif behaviour == "fails":
        send(id=id, error={"code": -32603, "message": "internal"})
    elif behaviour == "indexes" and asked == 1:
        send(id=id, result=None)
        time.sleep(0.2)
        progress("report")
        progress("end")
    elif behaviour == "indexes-late" and asked == 1:
        send(id=id, result=[])
        time.sleep(0.2)
        progress("begin")
        time.sleep(0.2)
        progress("end")
    elif behaviour == "announces":
        progress("begin")
        progress("end")
        send(id=id, result=[])
    elif behaviour.startswith("says "):
        send(id=id, result=json.loads(behaviour[5:]))
    elif behaviour == "ripens":
        send(id=id, result=[location(parameters, min(asked, 3))])
    elif behaviour == "many":
        send(id=id, result=[location(parameters, line) for line in range(102)])
    elif method == "textDocument/hover":
        send(id=id, result={"contents": {"kind": "markdown", "value": "**x**"}})
    else:
        send(id=id, result=[location(parameters, asked)])


main()
