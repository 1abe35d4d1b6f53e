"""`bash`: values, texts, limits and errors; what a command may touch; what is left of it."""

import os
import shutil
import sys

import pytest

from codemode import CodeMode, Failure, ToolDefinitionError
from codemode.toolkits import shell
from codemode.toolkits.processes import command, confinement, output
from tests.toolkits.engine import engine, eventually, processes


@pytest.fixture(params=["confined", "unconfined"])
def confined(request):
    if request.param == "confined" and (missing := confinement.probe()):
        pytest.skip(missing)
    return request.param == "confined"


@pytest.fixture
def bubblewrap():
    if missing := confinement.probe():
        pytest.skip(missing)


@pytest.fixture
async def bash(root, confined):
    async with engine(shell(root, confined=confined)) as tools:
        yield tools


def foreground(confined, **changed):
    held = {"mode": "workspace-write", "denied": False, "enforcement": "bubblewrap"}
    return {
        "kind": "foreground",
        "exitCode": 0,
        "signal": None,
        "timedOut": False,
        "aborted": False,
        "timeoutMs": 120_000,
        "stdout": stream(""),
        "stderr": stream(""),
        "sandbox": held if confined else {"mode": "danger-full-access", "denied": False},
    } | changed


def stream(text, **more):
    return {"text": text, "truncated": False, "bytes": len(text.encode())} | more


async def run(tools, line, **arguments):
    return await tools.value("bash", command=line, description="a test", **arguments)


async def shown(tools, line, **arguments):
    return await tools.shown("bash", command=line, description="a test", **arguments)


# -------------------------------------------------------------------------------- values and texts


async def test_the_value_has_both_streams_and_how_it_ended(bash, root, confined):
    value = await run(bash, "pwd; echo oops >&2; exit 3", timeoutMs=5000.5)
    assert value == foreground(
        confined, exitCode=3, timeoutMs=5000, stdout=stream(f"{root}\n"), stderr=stream("oops\n")
    )


async def test_a_program_gets_the_same_value(bash, confined):
    source = "return tools.bash('echo hi; kill -9 $$', 'a test')"
    assert await bash.result(source) == foreground(
        confined, exitCode=None, signal="SIGKILL", stdout=stream("hi\n")
    )


async def test_an_exit_code_above_128_is_no_signal(bash, confined):
    assert await run(bash, "exit 137") == foreground(confined, exitCode=137)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("echo hi", "hi\n"),
        ("true", "(no output)"),
        ("printf hi; echo oops >&2", "hi\n[stderr]\noops\n"),
        ("echo oops >&2", "[stderr]\noops\n"),
        ("printf hi; exit 3", "hi\n[exit code: 3]"),
        ("exit 1", "(no output)\n[exit code: 1]"),
        ("kill -SEGV $$", "(no output)\n[killed by signal: SIGSEGV]"),
    ],
)
async def test_what_a_model_sees(root, line, text):
    async with engine(shell(root)) as tools:
        assert await shown(tools, line) == text


async def test_bytes_that_are_no_text_are_replaced(bash):
    value = await run(bash, r"printf 'a\xff\xe2\x82b\n'")
    assert value["stdout"] == {"text": "a\ufffd\ufffdb\n", "truncated": False, "bytes": 6}


async def test_each_command_has_a_fresh_shell_and_no_input(bash):
    await run(bash, "x=1; cd /; export x")
    assert (await run(bash, 'echo "<$x>"; cat; pwd'))["stdout"]["text"].startswith("<>\n")


async def test_temporary_files_stay_from_command_to_command(bash):
    await run(bash, "echo kept > $TMPDIR/note")
    assert (await run(bash, "cat $TMPDIR/note"))["stdout"]["text"] == "kept\n"


async def test_a_working_directory_of_the_workspace(bash, root):
    (root / "sub").mkdir()
    (root / "out").symlink_to(root.parent)
    assert (await run(bash, "pwd", workdir="sub"))["stdout"]["text"] == f"{root}/sub\n"
    assert (await run(bash, "pwd", workdir=str(root / "sub")))["stdout"]["text"] == f"{root}/sub\n"
    for outside in ("..", "/", "out", f"{root}-other"):
        error = await bash.error("bash", command="pwd", description="d", workdir=outside)
        assert error.code == "OUTSIDE_WORKSPACE", outside
        assert f'"{outside}" is outside of the workspace {root}' in error.message
    error = await bash.error("bash", command="pwd", description="d", workdir="none")
    assert (error.code, error.message) == ("NOT_FOUND", 'there is no directory "none" in the workspace')


# ------------------------------------------------------------------------------------------ limits


async def test_of_a_long_stream_the_end_is_in_the_value_and_the_whole_in_a_file(bash):
    value = await run(bash, "seq 100000; echo short >&2")
    whole = "".join(f"{n}\n" for n in range(1, 100_001))
    assert value["stdout"]["text"] == whole[-64_000:]
    assert value["stdout"]["truncated"] is True
    assert value["stdout"]["bytes"] == len(whole)
    assert value["stderr"] == stream("short\n")
    path = value["stdout"]["spillPath"]
    with open(path) as file:
        assert file.read() == whole
    assert os.stat(path).st_mode & 0o777 == 0o600
    # The file can be searched by the next command, and not be changed by it.
    again = await run(bash, f"grep -c 9 {path}; echo x >> {path}; wc -c < {path}")
    assert again["stdout"]["text"].splitlines()[0] == str(sum("9" in line for line in whole.splitlines()))
    if again["sandbox"]["mode"] == "workspace-write":
        assert again["stdout"]["text"].splitlines()[1] == str(len(whole))


async def test_exactly_what_is_kept_is_not_truncated(bash):
    value = await run(bash, "head -c 64000 /dev/zero | tr '\\0' x")
    assert value["stdout"] == stream("x" * 64_000)


async def test_a_file_has_an_end_too(root, monkeypatch):
    monkeypatch.setattr(output, "SPILL_BYTES", 100_000)
    async with engine(shell(root)) as tools:
        value = await run(tools, "seq 100000")
        assert os.path.getsize(value["stdout"]["spillPath"]) == 100_000
        assert value["stdout"]["text"].endswith("\n99999\n100000\n")


async def test_all_files_together_have_an_end(root, monkeypatch):
    monkeypatch.setattr(output, "ALL_SPILL_BYTES", 500_000)
    async with engine(shell(root)) as tools:
        assert "spillPath" in (await run(tools, "seq 70000"))["stdout"]  # 408,894 bytes
        value = await run(tools, "seq 70000")
        assert value["stdout"]["truncated"]
        assert "spillPath" not in value["stdout"]
        assert (await shown(tools, "seq 70000")).endswith("\n[output truncated; full output: (unavailable)]")


async def test_at_its_time_a_command_is_ended_with_all_it_started(bash, confined):
    value = await run(bash, "echo begun; setsid sleep 911001 & sleep 911001", timeoutMs=400)
    assert value == foreground(
        confined, exitCode=None, signal="SIGTERM", timedOut=True, timeoutMs=400, stdout=stream("begun\n")
    )
    assert processes("sleep 911001") == set()


async def test_a_command_that_does_not_listen_is_killed(root, monkeypatch):
    monkeypatch.setattr(command, "GRACE_SECONDS", 0.3)
    async with engine(shell(root)) as tools:
        text = await shown(tools, "trap '' TERM; echo a; while :; do sleep 0.1; done", timeoutMs=900)
        assert text == "a\n[timed out after 900ms]\n[killed by signal: SIGKILL]"


async def test_a_command_may_clean_up_when_its_time_is_up(root):
    async with engine(shell(root)) as tools:
        value = await run(tools, "trap 'echo bye; exit 7' TERM; sleep 9 & wait", timeoutMs=900)
        assert (value["exitCode"], value["timedOut"], value["stdout"]["text"]) == (7, True, "bye\n")


async def test_a_time_beyond_the_limit_is_the_limit(root):
    async with engine(shell(root)) as tools:
        assert (await run(tools, "true", timeoutMs=1e12))["timeoutMs"] == 600_000


async def test_what_a_command_leaves_behind_goes_with_it(bash, confined):
    left = "nohup setsid bash -c 'trap \"\" TERM HUP; sleep 911002; :' >/dev/null 2>&1 & echo done"
    assert await run(bash, left) == foreground(confined, stdout=stream("done\n"))
    assert await eventually(lambda: processes("sleep 911002") == set())


async def test_processes_that_fork_for_ever_are_ended(bash):
    forking = "f() { (setsid bash -c 'sleep 911003' &); sleep 0.02; f; }; f & f & sleep 911003"
    assert (await run(bash, forking, timeoutMs=700))["timedOut"] is True
    assert await eventually(lambda: processes("sleep 911003") == set())


# ------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"command": ""}, "command"),
        ({"command": " "}, "invalid command: expected a non-empty string"),
        ({"command": "a\0b"}, "invalid command"),
        ({"command": "true", "description": " "}, "invalid description: expected a non-empty string"),
        ({"command": "true", "timeoutMs": 0}, "invalid timeoutMs: expected a positive number, got 0"),
        ({"command": "true", "timeoutMs": -5}, "invalid timeoutMs: expected a positive number, got -5"),
        ({"command": "true", "shell": "zsh"}, "shell"),
    ],
)
async def test_arguments_that_mean_nothing(root, arguments, message):
    async with engine(shell(root)) as tools:
        error = await tools.error("bash", **{"description": "d", **arguments})
        assert error.code == "INVALID_ARGUMENTS"
        assert message in error.message


async def test_a_command_that_is_too_long_says_what_to_do(root):
    async with engine(shell(root)) as tools:
        error = await tools.error("bash", command="true " + "x" * 200_000, description="d")
        assert error.code == "COMMAND_FAILED"
        assert error.message == "the command is longer than 120000 bytes; write it to a file and run that"


async def test_without_a_shell_the_call_fails(root):
    async with engine(shell(root, environment={"PATH": "/nowhere"})) as tools:
        error = await tools.error("bash", command="true", description="d")
        assert error.code == "COMMAND_FAILED"
        assert error.message == "the command could not be started: bash: No such file or directory"


async def test_it_asks_and_says_what_holds_the_command(root, confined):
    asked = []

    def approver(requests):
        asked.extend(each.reason for each in requests)
        return "deny"

    async with CodeMode(shell(root, confined=confined), approver=approver) as cm:
        outcome = await cm.call("bash", {"command": "touch made", "description": "d"})
    assert isinstance(outcome, Failure)
    assert not (root / "made").exists()
    assert asked == [
        "it runs a command confined by bubblewrap to the workspace, without network"
        if confined
        else "it runs a command without confinement, as the user that runs codemode (it was turned off)"
    ]


async def test_a_killed_supervisor_takes_the_command_with_it(root):
    async with engine(shell(root, confined=False)) as tools:
        error = await tools.error(
            "bash", command="(setsid sleep 911004 &) ; kill -9 $PPID; sleep 911004", description="d"
        )
        assert error.code == "COMMAND_FAILED"
        assert "the process that watches over it was killed" in error.message
        assert await eventually(lambda: processes("sleep 911004") == set())


# --------------------------------------------------------------------------------- what it may touch


async def test_the_environment_is_a_named_list(bash, monkeypatch, confined):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    names = {line.partition("=")[0] for line in (await run(bash, "env"))["stdout"]["text"].splitlines()}
    allowed = confinement.ENVIRONMENT | {"LC_TIME", "LC_ALL", "LC_CTYPE", "CODEMODE_COMMAND"}
    assert names <= allowed | {"_", "PWD", "SHLVL", "OLDPWD"}  # the shell's own
    assert {"PATH", "TMPDIR", "LC_TIME"} <= names


async def test_variables_of_ones_own(root):
    async with engine(shell(root, environment={"KEY": "value"})) as tools:
        assert (await run(tools, "echo $KEY"))["stdout"]["text"] == "value\n"


async def test_a_confined_command_writes_in_the_workspace_only(bubblewrap, root):
    (root.parent / "outside" / "own.txt").write_text("mine")
    (root / "link").symlink_to(root.parent / "outside")
    async with engine(shell(root)) as tools:
        assert (await run(tools, "echo new > made.txt"))["exitCode"] == 0
        assert (root / "made.txt").read_text() == "new\n"
        value = await run(tools, "echo x > /usr/share/codemode-test")
        assert value["sandbox"]["denied"] is True
        assert not os.path.exists("/usr/share/codemode-test")
        text = await shown(tools, "echo x > /usr/share/codemode-test")
        assert text.endswith(
            "[sandbox: access denied; a command may write in the workspace and /tmp only, and has no network]\n"
            "[exit code: 1]"
        )
        for path in (root.parent / "outside" / "own.txt", root / "link" / "own.txt", "/etc/shadow"):
            assert (await run(tools, f"cat {path}"))["stdout"]["text"] == "", path
        assert (await run(tools, "ls -A ~/.ssh ~/.aws /home /proc/1/root/home"))["stdout"][
            "text"
        ].strip() in (
            "",
            "/home:",
        )


async def test_a_confined_command_has_no_network_and_sees_no_other_processes(bubblewrap, root, unused_port):
    async with engine(shell(root)) as tools:
        value = await run(tools, f"exec 3<>/dev/tcp/127.0.0.1/{unused_port}")
        assert value["exitCode"] != 0
        seen = await run(tools, "ls -d /proc/[0-9]* | wc -l; kill -0 -1; kill -9 1; echo here")
        assert int(seen["stdout"]["text"].split()[0]) <= 4
        assert seen["stdout"]["text"].endswith("here\n")


@pytest.fixture
def unused_port():
    """A port that this process listens on."""
    import socket

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


async def test_a_confined_command_reads_what_it_is_told_it_may(bubblewrap, root):
    outside = root.parent / "outside"
    look = f"cat {outside}/secret.txt; echo x > {outside}/new"
    async with engine(shell(root)) as tools:
        assert (await run(tools, look))["stdout"]["text"] == ""
    async with engine(shell(root, readable=[outside])) as tools:
        assert (await run(tools, look))["stdout"]["text"] == "secret\n"
    assert not (outside / "new").exists()


async def test_this_python_works_in_a_confined_command(bubblewrap, root):
    async with engine(shell(root)) as tools:
        value = await run(
            tools, f"{sys.executable} -c 'import msgspec; print(msgspec.json.encode([1]).decode())'"
        )
        assert value["stdout"]["text"] == "[1]\n"


def test_confinement_that_is_demanded_and_not_there_refuses_the_tools(root, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    confinement.probe.cache_clear()
    try:
        with pytest.raises(
            ToolDefinitionError, match="commands cannot be confined here: bubblewrap is not inst"
        ):
            shell(root, confined=True)
        bash = shell(root)[0]
        assert "(bubblewrap is not installed; install the package bubblewrap)" in bash.approval
    finally:
        monkeypatch.undo()
        confinement.probe.cache_clear()


def test_a_workspace_has_to_be_a_directory(tmp_path):
    with pytest.raises(ToolDefinitionError, match="is not a directory"):
        shell(tmp_path / "none")
