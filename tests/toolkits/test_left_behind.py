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

from codemode import CodeMode
from codemode.toolkits import shell
from codemode.toolkits.processes import confinement
from tests.toolkits.engine import descriptors, engine, eventually, processes, threads

PROJECT = Path(__file__).parents[2]


def directories():
    return set(glob.glob(os.path.join(tempfile.gettempdir(), "codemode-jobs-*")))


@pytest.fixture
async def nothing_stays():
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


async def test_a_job_that_is_started_while_everything_ends(tools, nothing_stays):
    async with trio.open_nursery() as nursery:
        async with CodeMode(tools, approver=lambda requests: "allow-for-run") as cm:
            for _ in range(3):
                nursery.start_soon(cm.call, "bash", {"command": "sleep 913002", "description": "d"})
            await trio.testing.wait_all_tasks_blocked(0.001)
    assert processes("sleep 913002") == set()


MOMENTS = [0, 1, 2, 3, 5, 8, 13, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240]
"""When a call is cancelled: after so many turns of the loop, up to when the command has long been running."""


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
    from codemode import Limits

    async with engine(shell(root), limits=Limits(wall_seconds=1.0)) as made:
        done = await made.cm.run("tools.bash('setsid sleep 913004 & sleep 913004', 'd')")
        assert done.error.kind == "timeout"
        assert processes("sleep 913004") == set()


HOST = """
import sys, trio
from codemode import CodeMode
from codemode.toolkits import shell
from codemode.toolkits.processes import command

command.GRACE_SECONDS = 0.2

async def main():
    tools = shell(sys.argv[1], confined=sys.argv[2] == "True")
    async with CodeMode(tools, approver=lambda requests: "allow-for-run") as cm:
        line = "trap '' TERM HUP INT; setsid sleep 913005 & echo up; sleep 913005"
        await cm.call("bash", {"command": line, "description": "d", "run_in_background": True})
        while "up" not in (await cm.call("job_output", {"job_id": "bash-1"})).value["text"]:
            await trio.sleep(0.01)
        print("ready", flush=True)
        await cm.call("bash", {"command": line, "description": "d"})

trio.run(main)
"""


@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_commands_end_with_their_host(root, confined, number):
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
        if number == signal.SIGINT:
            assert os.listdir(place) == []
