"""The values of the terminal tools as a model reads them. Pure."""

from __future__ import annotations

from typing import Any

from codemode import Text, text

__all__ = ["render_close", "render_list", "render_open", "render_read", "render_send", "render_signal"]


def render_open(arguments: object, value: Any) -> list[Text]:
    shown = value["motd"] or "(no startup output)"
    return [text(f"started terminal session {_label(value)} [type: {value['type']}]\n{shown}")]


def render_list(arguments: object, value: Any) -> list[Text]:
    return [text("\n".join(map(_line, value)) or "(no terminal sessions)")]


def render_send(arguments: object, value: Any) -> list[Text]:
    if value["kind"] == "background":
        return [text(f"started background job {value['jobId']}")]
    lines = [
        value["viewport"] or "(no new output)",
        f"[wait: {value['waitReason']}]",
        f"[session: {_status(value['sessionStatus'])}]",
    ]
    return [text("\n".join(lines + ["[output truncated]"] * value["truncated"]))]


def render_read(arguments: object, value: Any) -> list[Text]:
    lines = [
        value["text"] or "(no retained output)",
        f"[lines: {value['lineBegin']}-{value['lineEnd']} of {value['totalLines']}]",
    ]
    return [text("\n".join(lines + ["[output truncated]"] * value["truncated"]))]


def render_signal(arguments: Any, value: Any) -> list[Text]:
    return [text(f"delivered {arguments['signal']} to foreground process group {value['targetPgid']}")]


def render_close(arguments: object, value: Any) -> list[Text]:
    if value["outcome"] == "closed":
        return [text(f"closed terminal session {value['sessionId']}")]
    return [text(f"terminal session {value['sessionId']} was already closing")]


def _label(value: Any) -> str:
    return str(value["sessionId"]) + (f" ({value['name']})" if "name" in value else "")


def _line(value: Any) -> str:
    status = _status(value["status"])
    pid = f" pid={value['pid']}" if "pid" in value and value["status"]["kind"] == "exited" else ""
    return f"{_label(value)} [{value['type']}] {status}{pid}"


def _status(status: Any) -> str:
    if status["kind"] == "running":
        return "running"
    code = "none" if status["exitCode"] is None else status["exitCode"]
    return f"exited code={code} signal={status['signal'] or 'none'}"
