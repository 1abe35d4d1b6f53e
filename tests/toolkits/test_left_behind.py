"""Nothing that a command or a terminal has started stays: no process, descriptor, thread or file."""

import glob
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import trio

from codemode import CodeMode, Limits
from codemode.toolkits import shell
from codemode.toolkits.processes import confinement
from codemode.toolkits.terminal import terminal
from tests.toolkits.engine import descriptors, engine, eventually, processes, threads

PROJECT = Path(__file__).parents[2]


def directories():
    return set(glob.glob(os.path.join(tempfile.gettempdir(), "codemode-jobs-*")))


@pytest.fixture
async def nothing_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(
        tempfile, "tempdir", str(tmp_path)
    )  # other processes on this machine have theirs elsewhere
    await trio.to_thread.run_sync(confinement.probe)
    before = descriptors(), threads(), directories()
    yield
    assert await eventually(lambda: processes("sleep 913") == set())
    assert (descriptors(), threads(), directories()) == before


@pytest.fixture(params=[True, False], ids=["confined", "unconfined"])
def tools(request, root):
    if request.param and (missing := confinement.probe()):
        pytest.skip(missing)
    return shell(root, confined=request.param)


MOMENTS = [0, 1, 2, 3, 5, 8, 13, 20, 40, 80, 320, 1280, 5120]
"""When a call is cancelled: after so many turns of the loop, up to when the command has long been running."""


ABANDONED = """
jobs = [tools.bash(f"setsid sleep 913001 & sleep 913001; echo {n}", "d", run_in_background=True) for n in range(10)]
raise ValueError([job["jobId"] for job in jobs])
"""


async def test_ten_jobs_of_a_program_that_fails(tools, nothing_stays):
    async with engine(tools) as made:
        done = await made.cm.run(ABANDONED)
        assert "bash-10" in done.error.message
        listed = await made.value("job_list")
        assert [job["status"] for job in listed] == ["running"] * 10
    assert processes("sleep 913001") == set()


@pytest.fixture(params=[True, False], ids=["confined", "unconfined"])
def terminals(request, root):
    if request.param and (missing := confinement.probe()):
        pytest.skip(missing)
    return terminal(root, confined=request.param)


OPEN = """
ids = [tools.terminal_open("bash")["sessionId"] for n in range(10)]
for id in ids:
    tools.terminal_send(id, "setsid sleep 913006 & sleep 913006", timeout_ms=100)
raise ValueError(ids[-1])
"""


async def test_ten_terminals_of_a_program_that_fails(terminals, nothing_stays):
    async with engine(terminals) as made:
        done = await made.cm.run(OPEN)
        assert "pty-10" in done.error.message
        listed = await made.value("terminal_list")
        assert [each["status"]["kind"] for each in listed] == ["running"] * 10
        assert await eventually(lambda: len(processes("sleep 913006")) >= 20)
    assert processes("sleep 913006") == set()


@pytest.mark.parametrize("name", ["terminal_open", "terminal_send", "terminal_close"])
async def test_a_terminal_call_that_is_cancelled_at_any_moment(terminals, nothing_stays, name):
    async with engine(terminals) as made:
        for moment in MOMENTS[::2]:
            arguments = {"type": "bash"}
            if name != "terminal_open":
                arguments = {"sessionId": (await made.value("terminal_open", type="bash"))["sessionId"]}
            if name == "terminal_send":
                arguments["text"] = "sleep 913007"
            async with trio.open_nursery() as nursery:
                nursery.start_soon(made.cm.call, name, arguments)
                for _ in range(moment):
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            # What is left can be used, and closed.
            for each in await made.value("terminal_list"):
                if name == "terminal_send":
                    shown = await made.value(
                        "terminal_send", sessionId=each["sessionId"], text="\x03", submit=False
                    )
                    assert shown["sessionStatus"] == {"kind": "running"}, moment
                while each["sessionId"] in {one["sessionId"] for one in await made.value("terminal_list")}:
                    await made.value("terminal_close", sessionId=each["sessionId"])
        assert await eventually(lambda: processes("bash --noprofile --norc -i") == set())


async def test_a_job_that_is_started_while_everything_ends(tools, nothing_stays):
    async with trio.open_nursery() as nursery:
        async with CodeMode(tools, approver=lambda requests: "allow-for-run") as cm:
            for _ in range(3):
                nursery.start_soon(cm.call, "bash", {"command": "sleep 913002", "description": "d"})
            await trio.testing.wait_all_tasks_blocked(0.001)
    assert processes("sleep 913002") == set()


@pytest.mark.parametrize("in_background", [False, True])
async def test_a_call_that_is_cancelled_at_any_moment(tools, nothing_stays, in_background):
    async with engine(tools) as made:
        arguments = {
            "command": "setsid sleep 913003 & sleep 913003",
            "description": "d",
            "run_in_background": in_background,
        }
        for moment in MOMENTS:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(made.cm.call, "bash", arguments)
                for _ in range(moment):
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            if not in_background:
                assert processes("sleep 913003") == set(), moment
            else:
                for job in await made.value("job_list"):
                    await made.value("job_kill", job_id=job["id"])
                    await made.value("job_output", job_id=job["id"], wait=True)
        # And the tools still work.
        assert (await made.value("bash", command="echo on", description="d"))["stdout"]["text"] == "on\n"


async def test_a_run_that_times_out_ends_its_command(root, nothing_stays):
    async with engine(shell(root), limits=Limits(wall_seconds=1.0)) as made:
        done = await made.cm.run("tools.bash('setsid sleep 913004 & sleep 913004', 'd')")
        assert done.error.kind == "timeout"
        assert processes("sleep 913004") == set()


HOST = """
import sys, trio
from codemode import CodeMode, Limits
from codemode.toolkits import shell
from codemode.toolkits.processes import command
from codemode.toolkits.terminal import terminal

command.GRACE_SECONDS = 0.2

async def main():
    confined = sys.argv[2] == "True"
    tools = [*shell(sys.argv[1], confined=confined), *terminal(sys.argv[1], confined=confined)]
    async with CodeMode(tools, approver=lambda requests: "allow-for-run") as cm:
        line = "trap '' TERM HUP INT; setsid sleep 913005 & echo up; sleep 913005"
        await cm.call("bash", {"command": line, "description": "d", "run_in_background": True})
        while "up" not in (await cm.call("job_output", {"job_id": "bash-1"})).value["text"]:
            await trio.sleep(0.01)
        await cm.call("terminal_open", {"type": "bash"})
        typed = {"sessionId": "pty-1", "text": "trap '' HUP; nohup sleep 913005 & sleep 913005", "timeout_ms": 200}
        await cm.call("terminal_send", typed)
        print("ready", flush=True)
        await cm.call("bash", {"command": line, "description": "d"})

trio.run(main)
"""


@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_commands_end_with_their_host(root, confined, number, monkeypatch):
    if confined and (missing := confinement.probe()):
        pytest.skip(missing)
    with tempfile.TemporaryDirectory() as place:
        with subprocess.Popen(
            [sys.executable, "-c", HOST, str(root), str(confined)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=PROJECT,
            env={**os.environ, "TMPDIR": place},
        ) as host:
            try:
                assert await trio.to_thread.run_sync(host.stdout.readline) == b"ready\n"
                assert processes("sleep 913005") - {host.pid}
                host.send_signal(number)
                await trio.to_thread.run_sync(host.wait)
            finally:
                host.kill()
        assert await eventually(lambda: processes("sleep 913005") == set())
        if number == signal.SIGKILL:
            # Nobody was there to remove its files: the next owner does.
            left = glob.glob(os.path.join(place, "codemode-jobs-*"))
            assert len(left) == 2
            monkeypatch.setattr(tempfile, "tempdir", place)
            async with engine(shell(root, confined=False)) as made:
                assert await made.shown("bash", command="echo hi", description="d") == "hi\n"
                assert await eventually(lambda: not any(map(os.path.exists, left)))
        assert os.listdir(place) == []
