"""Background jobs: what they show while they run, how they end, and that they end with their owner."""

import os

import pytest
import trio

from codemode import CodeMode, Tool, ToolError
from codemode.toolkits import Jobs, jobs, shell
from codemode.toolkits.processes import output
from codemode.toolkits.processes.output import Piece
from codemode.toolkits.shell.following import job_tools
from tests.toolkits.engine import engine, eventually, processes


@pytest.fixture
async def tools(root):
    async with engine(shell(root)) as made:
        yield made


async def start(tools, command, **arguments):
    value = await tools.value("bash", command=command, description="d", run_in_background=True, **arguments)
    assert value == {"kind": "background", "jobId": value["jobId"]}
    return value["jobId"]


async def finished(tools, job):
    value = await tools.value("job_output", job_id=job, wait=True)
    assert "finishedAt" in value["job"]
    return value


async def test_a_job_is_followed_to_its_end(tools):
    value = await tools.outcome(
        "bash", command="echo one; echo two >&2", description="d", run_in_background=True
    )
    assert value.content[0].text == "started background job bash-1"
    value = await finished(tools, "bash-1")
    job = value["job"]
    assert value == {"text": "one\ntwo\n", "truncated": False, "job": job}
    assert job == {
        "id": "bash-1",
        "kind": "bash",
        "label": "echo one; echo two >&2",
        "status": "completed",
        "detail": "exit code: 0",
        "startedAt": job["startedAt"],
        "finishedAt": job["finishedAt"],
    }
    assert 1.5e12 < job["startedAt"] <= job["finishedAt"]
    assert (
        await tools.shown("job_output", job_id="bash-1")
        == "(no new output)\n[status: completed, exit code: 0]"
    )


async def test_output_is_given_once(tools, root):
    job = await start(tools, "printf 'one\\nhalf '; until [ -e go ]; do sleep 0.02; done; echo line; exit 4")
    seen = ""
    while "half" not in seen:
        seen += (await tools.value("job_output", job_id=job))["text"]
    assert seen == "one\nhalf "
    assert await tools.shown("job_output", job_id=job) == "(no new output)\n[status: running]"
    waited = await tools.value("job_output", job_id=job, wait=True, timeout_ms=20)
    assert (waited["text"], waited["job"]["status"]) == ("", "running")
    (root / "go").touch()
    value = await finished(tools, job)
    assert (value["text"], value["job"]["status"], value["job"]["detail"]) == (
        "line\n",
        "failed",
        "exit code: 4",
    )


async def test_what_was_too_much_for_memory_is_in_a_file(tools):
    job = await start(tools, "seq 100000")
    value = await finished(tools, job)
    whole = "".join(f"{n}\n" for n in range(1, 100_001))
    assert value["text"] == whole[-output.KEPT_BYTES :]
    assert value["truncated"] is True
    with open(value["spillPath"]) as file:
        assert file.read() == whole
    text = await tools.shown("bash", command="seq 100000", description="d", run_in_background=True)
    await tools.value("job_output", job_id="bash-2", wait=True)
    assert text == "started background job bash-2"


async def test_the_text_of_dropped_output_says_where_it_is(tools):
    job = await start(tools, "seq 100000")
    text = await tools.shown("job_output", job_id=job, wait=True)
    *_, last, dropped, status = text.splitlines()
    assert last == "100000"
    assert dropped.startswith("[some output was dropped from memory; full output: /")
    assert dropped.endswith(".txt, its first 64 MiB]")
    assert status == "[status: completed, exit code: 0]"


async def test_a_job_is_killed_with_all_it_started(tools, root):
    job = await start(tools, "setsid sleep 912001 & echo begun; touch up; sleep 912001")
    assert await eventually((root / "up").exists)
    value = await tools.value("job_kill", job_id=job, reason="enough")
    assert value["outcome"] == "cancellation-requested"
    assert value["job"]["status"] == "stopping"
    value = await finished(tools, job)
    assert (value["job"]["status"], value["job"]["detail"]) == ("killed", "signal: SIGTERM")
    assert value["text"] == "begun\n"
    assert processes("sleep 912001") == set()
    assert await tools.shown("job_kill", job_id=job) == (
        f"job {job} had already finished [status: killed, signal: SIGTERM]"
    )
    assert (await tools.value("job_kill", job_id=job))["outcome"] == "already-finished"


async def test_the_text_of_a_kill(tools):
    job = await start(tools, "sleep 100")
    assert await tools.shown("job_kill", job_id=job) == "requested cancellation of job bash-1"


async def test_a_job_has_a_time_limit_only_if_told(tools):
    job = await start(tools, "sleep 100", timeoutMs=200)
    value = await finished(tools, job)
    assert (value["job"]["status"], value["job"]["detail"]) == ("failed", "timed out after 200ms")


async def test_jobs_are_listed(tools, root):
    assert await tools.value("job_list") == []
    assert await tools.shown("job_list") == "(no background jobs)"
    await finished(tools, await start(tools, "false\n# a comment"))
    await start(tools, "sleep 100")
    value = await tools.value("job_list")
    assert [(job["id"], job["status"]) for job in value] == [("bash-1", "failed"), ("bash-2", "running")]
    assert await tools.shown("job_list") == (
        "bash-1 [bash] failed — false # a comment\nbash-2 [bash] running — sleep 100"
    )


async def test_a_job_outlives_the_run_that_started_it_and_the_next_one_follows_it(tools, root):
    first = await tools.cm.run(
        "job = tools.bash('until [ -e go ]; do sleep 0.02; done; echo late', 'd', run_in_background=True)\n"
        "raise ValueError(job['jobId'])"
    )
    assert "bash-1" in first.error.message
    value = await tools.result(
        "tools.bash('touch go', 'd')\n"
        "value = tools.job_output('bash-1', wait=True)\n"
        "return [value['text'], value['job']['status']]"
    )
    assert value == ["late\n", "completed"]


async def test_there_are_at_most_ten_active_jobs(tools):
    for _ in range(jobs.MAX_ACTIVE):
        await start(tools, "sleep 100")
    error = await tools.error("bash", command="true", description="d", run_in_background=True)
    assert error.code == "JOB_LIMIT"
    assert error.message.startswith("background job limit reached for this owner (limit: 10); ")
    await tools.value("job_kill", job_id="bash-3")
    await finished(tools, "bash-3")
    assert await start(tools, "true") == "bash-11"


async def test_old_jobs_are_forgotten(tools, monkeypatch):
    monkeypatch.setattr(jobs, "MAX_FINISHED", 2)
    for _ in range(4):
        await finished(tools, await start(tools, "true"))
    assert [job["id"] for job in await tools.value("job_list")] == ["bash-2", "bash-3", "bash-4"]
    assert (await tools.error("job_output", job_id="bash-1")).code == "UNKNOWN_JOB"


async def test_errors(tools):
    error = await tools.error("job_output", job_id="bash-9")
    assert (error.code, error.message) == ("UNKNOWN_JOB", "unknown job 'bash-9'; there are: none")
    assert (await tools.error("job_kill", job_id="x")).code == "UNKNOWN_JOB"
    assert (await tools.error("job_kill", job_id="")).code == "INVALID_ARGUMENTS"
    job = await start(tools, "true")
    error = await tools.error("job_output", job_id=job, wait=True, timeout_ms=-1)
    assert (error.code, error.message) == (
        "INVALID_ARGUMENTS",
        "invalid wait timeout: expected a positive number, got -1",
    )


async def test_a_command_that_cannot_be_started_is_a_failed_job(root):
    async with engine(shell(root, environment={"PATH": "/nowhere"})) as tools:
        value = await finished(tools, await start(tools, "true"))
        assert value["job"]["status"] == "failed"
        assert value["job"]["detail"] == "the command could not be started: bash: No such file or directory"


async def test_jobs_end_with_their_engine(root):
    made = shell(root)
    async with engine(made) as tools:
        await start(tools, "trap '' HUP; sleep 912002 & setsid sleep 912002 & touch up; wait")
        assert await eventually((root / "up").exists)
        assert len(processes("sleep 912002")) >= 3
        await tools.value("bash", command="seq 100000; mkdir -m 0 $TMPDIR/closed", description="d")
        directory = os.path.dirname(
            (await tools.value("bash", command="seq 100000", description="d"))["stdout"]["spillPath"]
        )
        assert os.path.isdir(directory)
    assert processes("sleep 912002") == set()
    assert not os.path.exists(os.path.dirname(directory))
    # The same tools, in another engine, begin afresh.
    async with engine(made) as tools:
        assert await tools.value("job_list") == []


async def test_tools_of_one_owner_are_not_in_two_engines_at_once(root):
    made = shell(root)
    async with engine(made) as one, engine(made) as other:
        assert await one.value("job_list") == []
        error = await other.error("job_list")
        assert error.code == "IN_USE"
        assert "each engine needs tools of its own" in error.message
        assert await one.value("job_list") == []
    async with engine(made) as one:
        assert await one.value("job_list") == []


async def test_a_job_of_any_kind(root):
    """What another toolkit does with jobs: start one, have it followed by the same tools."""

    class Said:
        def take(self):
            return Piece("said", False, None)

    owner = Jobs()

    async def work(job):
        await job.stop.wait()
        return jobs.Settled("completed")

    async def broken(job):
        raise ToolError("it broke")

    with pytest.raises(ToolError, match="these tools have no owner"):
        owner.start("thought", "x", Said(), work)
    async with engine([*job_tools(owner)]) as tools:
        assert await tools.value("job_list") == []
        owner.start("thought", "l" * 1000, Said(), work)
        owner.start("thought", "y", Said(), broken)
        value = await tools.value("job_output", job_id="thought-2", wait=True)
        assert value["text"] == "said"
        assert (value["job"]["status"], value["job"]["detail"]) == ("failed", "it broke")
        assert len((await tools.value("job_list"))[0]["label"]) == 200


def test_what_only_looks_says_so(root):
    by_name: dict[str, Tool] = {each.name: each for each in shell(root)}
    assert {name for name, each in by_name.items() if each.read_only} == {"job_output", "job_list"}
    assert {name for name, each in by_name.items() if each.parallel is True} == {"job_output", "job_list"}
    assert all(each.timeout for each in by_name.values())
    assert {name for name, each in by_name.items() if each.approval} == {"bash"}


async def test_a_call_that_waits_can_be_cancelled_and_the_job_goes_on(tools):
    job = await start(tools, "sleep 100")
    with trio.move_on_after(0.05) as limit:
        await tools.cm.call("job_output", {"job_id": job, "wait": True})
    assert limit.cancelled_caught
    assert (await tools.value("job_list"))[0]["status"] == "running"


async def test_without_an_engine_that_is_entered_nothing_runs(root):
    with pytest.raises(RuntimeError, match="enter it first"):
        await CodeMode(shell(root)).call("job_list", {})


async def test_the_end_of_a_job_is_told_until_a_call_of_the_model_itself_has_shown_it(root):
    shared = Jobs()
    async with engine(shell(root, jobs=shared)) as tools:
        other = tools.cm.scope()
        for _ in range(3):
            await start(tools, "true")
        read = "return [tools.job_output(f'bash-{n}', wait=True)['job']['status'] for n in (1, 2, 3)]"
        assert await tools.result(read) == ["completed"] * 3
        assert len(await tools.result("return tools.job_list()")) == 3
        await finished(tools, "bash-2")
        assert (await tools.value("job_kill", job_id="bash-3"))["outcome"] == "already-finished"
        await other.call("job_list", {})  # another model's
        told = "background job bash-1 (bash: true) finished [status: completed, exit code: 0]. "
        assert shared.notices(tools.cm) == [f"{told}Read its output with job_output."]
        assert shared.notices(tools.cm) == []
        assert shared.notices(other) == []


async def test_a_notice_names_job_output_only_where_that_is_a_tool(root):
    shared = Jobs()
    async with engine(shell(root, jobs=shared)) as tools:
        await start(tools, "true")
        await tools.result("tools.job_output('bash-1', wait=True)")
        told = "background job bash-1 (bash: true) finished [status: completed, exit code: 0]."
        assert shared.notices(tools.cm.scope(deny=["job_output"])) == [told]
        assert shared.notices(tools.cm) == [f"{told} Read its output with job_output."]
