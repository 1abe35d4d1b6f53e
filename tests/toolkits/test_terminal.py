"""Terminals: real programs on a real pseudo-terminal, directly and from a program."""

import shutil
import sys

import pytest
import trio

from codemode import CodeMode, Failure, ToolDefinitionError
from codemode.content import text_of
from codemode.toolkits import Jobs, shell
from codemode.toolkits.processes import command, confinement
from codemode.toolkits.terminal import sessions as sessions_module
from codemode.toolkits.terminal import terminal
from codemode.toolkits.terminal import tools as tools_module
from tests.toolkits.engine import engine, eventually, processes

ENVIRONMENT = {"PS1": "$ ", "LC_ALL": "C.UTF-8", "PYTHON_BASIC_REPL": "1"}


@pytest.fixture(params=["confined", "unconfined"])
def confined(request):
    if request.param == "confined" and (missing := confinement.probe()):
        pytest.skip(missing)
    return request.param == "confined"


@pytest.fixture
async def tools(root):
    async with engine(terminal(root, environment=ENVIRONMENT)) as made:
        yield made


def needs(program):
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program} on this machine")


async def opened(tools, type="bash", **arguments):
    return (await tools.value("terminal_open", type=type, **arguments))["sessionId"]


async def send(tools, id, text, **arguments):
    value = await tools.value("terminal_send", sessionId=id, text=text, **arguments)
    assert value["kind"] == "foreground"
    return value


RUNNING = {"kind": "running"}


# ------------------------------------------------------------------------------- values and texts


async def test_a_shell(root, confined):
    async with engine(terminal(root, confined=confined, environment=ENVIRONMENT)) as tools:
        value = await tools.value("terminal_open", type="bash", name="work")
        assert value == {
            "sessionId": "pty-1",
            "name": "work",
            "type": "bash",
            "pid": value["pid"],
            "status": RUNNING,
            "motd": "$",
        }
        assert (value["pid"] == 2) is confined
        value = await send(tools, "pty-1", "pwd; tty -s && echo terminal; stty size")
        assert value == {
            "kind": "foreground",
            "viewport": f"$ pwd; tty -s && echo terminal; stty size\n{root}\nterminal\n40 160\n$",
            "waitReason": "stdin_read",
            "sessionStatus": RUNNING,
            "truncated": False,
        }
        # It is one shell, that remembers.
        await send(tools, "pty-1", "x=5; cd /")
        assert (await send(tools, "pty-1", "echo $x $PWD"))["viewport"] == "$ echo $x $PWD\n5 /\n$"


async def test_what_a_model_sees(tools):
    assert await tools.shown("terminal_list") == "(no terminal sessions)"
    assert await tools.shown("terminal_open", type="bash", name="one") == (
        "started terminal session pty-1 (one) [type: bash]\n$"
    )
    assert await tools.shown("terminal_send", sessionId="pty-1", text="echo hi") == (
        "$ echo hi\nhi\n$\n[wait: stdin_read]\n[session: running]"
    )
    assert await tools.shown("terminal_send", sessionId="pty-1", text="", submit=False) == (
        "(no new output)\n[wait: stdin_read]\n[session: running]"
    )
    assert await tools.shown("terminal_read", sessionId="pty-1", count=2, offset=1) == (
        "$ echo hi\nhi\n[lines: 1-2 of 3]"
    )
    assert await tools.shown("terminal_send", sessionId="pty-1", text="exit 3") == (
        "$ exit 3\nexit\n[wait: session_exit]\n[session: exited code=3 signal=none]"
    )
    listed = await tools.shown("terminal_list")
    assert listed.startswith("pty-1 (one) [bash] exited code=3 signal=none pid=")
    assert await tools.shown("terminal_close", sessionId="pty-1") == "closed terminal session pty-1"


async def test_the_lines_that_were_shown_can_be_read(tools):
    id = await opened(tools)
    await send(tools, id, "seq 100")
    value = await tools.value("terminal_read", sessionId=id, count=3)
    assert value == {
        "text": "99\n100\n$",
        "totalLines": 102,
        "lineBegin": 100,
        "lineEnd": 102,
        "truncated": False,
    }
    value = await tools.value("terminal_read", sessionId=id, offset=99, count=2)
    assert (value["text"], value["lineBegin"], value["lineEnd"]) == ("1\n2", 2, 3)
    value = await tools.value("terminal_read", sessionId=id, offset=1000)
    assert value == {"text": "", "totalLines": 102, "lineBegin": 0, "lineEnd": 0, "truncated": False}
    assert await tools.shown("terminal_read", sessionId=id, offset=1000) == (
        "(no retained output)\n[lines: 0-0 of 102]"
    )


async def test_metadata_of_sending(tools):
    id = await opened(tools)
    outcome = await tools.outcome("terminal_send", sessionId=id, text="true")
    assert outcome.meta == {key: outcome.value[key] for key in outcome.value if key != "kind"}


async def test_a_program_uses_a_terminal(tools, root):
    (root / "sub").mkdir()
    source = """
id = tools.terminal_open("python", cwd="sub")["sessionId"]
first = tools.terminal_send(id, "import os; print(os.getcwd(), 6 * 7)")
second = tools.terminal_send(id, "def f(n):\\n    return n + 1\\n")
third = tools.terminal_send(id, "f(41)")
closed = tools.terminal_close(id)
return [first["viewport"].splitlines()[1], third["viewport"].splitlines()[1], closed]
"""
    assert await tools.result(source) == [
        f"{root}/sub 42",
        "42",
        {"sessionId": "pty-1", "outcome": "closed"},
    ]


# ---------------------------------------------------------------------------------- real programs


async def test_vim_edits_a_file(tools, root):
    needs("vim")
    id = await opened(tools)
    value = await send(tools, id, "vim -u NONE -n note.txt")
    assert '"note.txt" [New' in value["viewport"]
    assert value["waitReason"] == "stdin_read"
    value = await send(tools, id, "ifirst\nsecond\x1b", submit=False)
    assert value["viewport"].startswith("first\nsecond\n~")
    value = await send(tools, id, ":%s/second/last/ | wq")
    assert value["viewport"].splitlines()[-1] == "$"  # the shell is back
    assert (root / "note.txt").read_text() == "first\nlast\n"


async def test_less_shows_page_after_page(tools, root):
    needs("less")
    (root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 201)))
    id = await opened(tools)
    value = await send(tools, id, "less long.txt")
    assert value["viewport"].splitlines()[:2] == ["line 1", "line 2"]
    value = await send(tools, id, " ", submit=False)
    assert "line 70" in value["viewport"]
    assert "line 1\n" not in value["viewport"]
    value = await send(tools, id, "/line 150")
    assert value["viewport"].splitlines()[0] == "line 150"
    value = await send(tools, id, "q", submit=False)
    assert value["viewport"].splitlines()[-1] == "$"


async def test_python_is_interrupted(tools):
    id = await opened(tools, "python")
    value = await send(tools, id, "import time; time.sleep(1000)", timeout_ms=300)
    assert value["waitReason"] == "timeout"
    value = await tools.value("terminal_signal", sessionId=id, signal="SIGINT")
    assert value == {"delivered": True, "targetPgid": value["targetPgid"]}
    value = await send(tools, id, "", submit=False, wait_for="KeyboardInterrupt")
    assert value["waitReason"] == "pattern"
    await send(tools, id, "", submit=False)
    value = await send(tools, id, "1 + 1")
    assert value["viewport"].splitlines()[1:] == ["2", ">>>"]


async def test_control_characters_are_typed(tools):
    id = await opened(tools)
    await send(tools, id, "sleep 915001", timeout_ms=200)
    assert (await send(tools, id, "\x03", submit=False))["viewport"].endswith("$")
    assert processes("sleep 915001") == set()
    assert "hello" in (await send(tools, id, "echo hellx\x7fo"))["viewport"]


# --------------------------------------------------------------------------------------- waiting


async def test_a_text_is_waited_for(tools, root):
    id = await opened(tools)
    typed = "until [ -e go ]; do sleep 0.02; done; echo $((40 + 2)); sleep 915002"
    async with trio.open_nursery() as nursery:
        values = []

        async def wait():
            values.append(await send(tools, id, typed, wait_for="\n42"))

        nursery.start_soon(wait)
        await trio.sleep(0.05)
        (root / "go").touch()
    assert values[0]["waitReason"] == "pattern"
    assert values[0]["viewport"].endswith("\n42")


async def test_a_program_that_is_silent_without_reading_is_idle(tools, monkeypatch):
    monkeypatch.setattr("codemode.toolkits.terminal.session.IDLE_SECONDS", 0.3)
    id = await opened(tools)
    value = await send(tools, id, "sleep 915003")
    assert (value["waitReason"], value["viewport"]) == ("inferred_idle", "$ sleep 915003")


async def test_a_program_that_works_without_a_word_is_not_taken_for_one_that_reads(tools):
    id = await opened(tools)
    value = await send(tools, id, "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; echo $i")
    assert value["viewport"].splitlines()[1] == "150000"


async def test_waiting_goes_to_the_background(root):
    jobs = Jobs()
    both = [*terminal(root, jobs=jobs, environment=ENVIRONMENT), *shell(root, jobs=jobs)]
    async with engine(both) as tools:
        id = await opened(tools, name="build")
        value = await tools.value(
            "terminal_send", sessionId=id, text="sleep 0.3; echo done$((1))", run_in_background=True
        )
        assert value == {"kind": "background", "jobId": "pty-send-1"}
        error = await tools.error("terminal_send", sessionId=id, text="x")
        assert error.code == "TERMINAL_BUSY"
        done = await tools.value("job_output", job_id="pty-send-1", wait=True)
        assert done["text"].splitlines()[1:] == ["done1", "$"], done
        assert (done["job"]["kind"], done["job"]["label"]) == (
            "pty-send",
            "build: sleep 0.3; echo done$((1))",
        )
        assert (done["job"]["status"], done["job"]["detail"]) == ("completed", "wait: stdin_read")
        again = await tools.value("job_output", job_id="pty-send-1")
        assert again["text"] == done["text"]
        outcome = await tools.outcome("terminal_send", sessionId=id, text="sleep 9", run_in_background=True)
        assert text_of(outcome.content) == "started background job pty-send-2"
        assert outcome.meta is None
        await tools.value("job_kill", job_id="pty-send-2")
        killed = await tools.value("job_output", job_id="pty-send-2", wait=True)
        assert killed["job"]["status"] == "killed"
        # Only the waiting was ended.
        assert (await send(tools, id, "\x03", submit=False))["sessionStatus"] == RUNNING


async def test_without_jobs_to_follow_there_is_no_background(tools):
    id = await opened(tools)
    error = await tools.error("terminal_send", sessionId=id, text="x", run_in_background=True)
    assert error.code == "INVALID_ARGUMENTS"


# ---------------------------------------------------------------------------------------- limits


async def test_a_flood_is_survived_and_ended(tools):
    id = await opened(tools)
    value = await send(tools, id, "yes 0123456789", timeout_ms=700)
    assert value["waitReason"] == "timeout"
    assert len(value["viewport"].encode()) <= tools_module.MAX_BYTES
    await send(tools, id, "\x03", submit=False)
    value = await send(tools, id, "echo back")
    assert value["viewport"].splitlines()[-2:] == ["back", "$"]
    assert (await tools.value("terminal_read", sessionId=id))["totalLines"] <= 10_040


async def test_a_flood_of_colours_holds_up_nobody(tools):
    id = await opened(tools)
    async with trio.open_nursery() as nursery:
        done = []

        async def flood():
            done.append(
                await send(tools, id, r"yes $'\e[31mred\e[0m \u00fc'", wait_for="blue", timeout_ms=60_000)
            )

        nursery.start_soon(flood)
        await trio.sleep(0.2)
        for _ in range(20):
            listed = await tools.value("terminal_list")
            assert [each["status"] for each in listed] == [RUNNING]
            await trio.sleep(0.005)
        assert done == []
        nursery.cancel_scope.cancel()
    await send(tools, id, "\x03", submit=False)
    value = await send(tools, id, "echo back")
    assert value["viewport"].splitlines()[-2:] == ["back", "$"]


async def test_what_one_call_returns_is_bounded(tools, monkeypatch):
    monkeypatch.setattr(tools_module, "MAX_BYTES", 64)
    id = await opened(tools)
    value = await send(tools, id, "seq 1000")
    assert value["truncated"] is True
    assert len(value["viewport"].encode()) == 64
    assert value["viewport"].endswith("\n1000\n$")
    assert (await tools.shown("terminal_send", sessionId=id, text="seq 1000")).endswith(
        "\n[output truncated]"
    )
    value = await tools.value("terminal_read", sessionId=id)
    assert value["truncated"] is True
    lines = value["text"].split("\n")
    assert (value["lineEnd"], value["lineBegin"]) == (
        value["totalLines"],
        value["totalLines"] - len(lines) + 1,
    )


async def test_a_program_that_does_not_read_is_said(tools):
    id = await opened(tools)
    await send(tools, id, "sleep 915004", timeout_ms=200)
    # A terminal takes a few lines ahead, and no more.
    error = await tools.error(
        "terminal_send", sessionId=id, text="x" * 2000 + "\n" + "y\n" * 30_000, timeout_ms=300
    )
    assert error.code == "TERMINAL_NOT_READING"


async def test_there_are_at_most_so_many(tools, monkeypatch):
    monkeypatch.setattr(sessions_module, "MAX_OPEN", 2)
    one, _ = await opened(tools), await opened(tools)
    error = await tools.error("terminal_open", type="bash")
    assert error.code == "TERMINAL_LIMIT"
    await tools.value("terminal_close", sessionId=one)
    assert await opened(tools) == "pty-3"


async def test_errors(tools, root):
    error = await tools.error("terminal_open", type="fish")
    assert (error.code, error.message) == (
        "TERMINAL_TYPE",
        "there is no terminal of type 'fish'; there are: bash, python",
    )
    assert (await tools.error("terminal_open", type="bash", cwd="..")).code == "OUTSIDE_WORKSPACE"
    for name, more in [
        ("send", {"text": "x"}),
        ("read", {}),
        ("signal", {"signal": "SIGINT"}),
        ("close", {}),
    ]:
        error = await tools.error(f"terminal_{name}", sessionId="pty-9", **more)
        assert (error.code, error.message) == (
            "UNKNOWN_TERMINAL",
            "unknown terminal session 'pty-9'; there are: none",
        )
        assert (await tools.error(f"terminal_{name}", sessionId="", **more)).code == "INVALID_ARGUMENTS"
    id = await opened(tools, name="one")
    error = await tools.error("terminal_open", type="bash", name="one")
    assert (error.code, error.message) == ("TERMINAL_NAME", "a terminal session named 'one' is open already")
    error = await tools.error("terminal_send", sessionId=id, text="echo done", wait_for="done")
    assert (error.code, "wait_for is part of what is typed" in error.message) == ("INVALID_ARGUMENTS", True)
    assert (
        await tools.error("terminal_send", sessionId=id, text="x", timeout_ms=0)
    ).code == "INVALID_ARGUMENTS"
    assert (await tools.error("terminal_signal", sessionId=id, signal="SIGSEGV")).code == "INVALID_ARGUMENTS"
    await send(tools, id, "exit")
    assert (await tools.error("terminal_send", sessionId=id, text="x")).code == "TERMINAL_EXITED"
    assert (await tools.error("terminal_signal", sessionId=id, signal="SIGINT")).code == "TERMINAL_EXITED"
    assert "pwd" not in (await tools.value("terminal_read", sessionId=id))["text"]
    assert await opened(tools, name="one") == "pty-2"


async def test_a_program_that_is_not_there(root):
    async with engine(terminal(root, types={"none": ["no-such-program"]})) as tools:
        error = await tools.error("terminal_open", type="none")
        assert (error.code, error.message) == (
            "COMMAND_FAILED",
            "the command could not be started: no-such-program: No such file or directory",
        )
        assert await tools.value("terminal_list") == []
    with pytest.raises(ToolDefinitionError, match="at least one type"):
        terminal(root, types={})


async def test_opening_asks_and_typing_does_not(root, confined):
    asked = []

    def approver(requests):
        asked.extend((each.tool.name, each.reason) for each in requests)
        return "deny"

    async with CodeMode(terminal(root, confined=confined), approver=approver) as cm:
        assert isinstance(await cm.call("terminal_open", {"type": "bash"}), Failure)
        assert (await cm.call("terminal_list", {})).value == []
    ((name, reason),) = asked
    assert name == "terminal_open"
    assert ("confined by bubblewrap" in reason) is confined


def test_what_only_looks_says_so(root):
    made = {each.name: each for each in terminal(root)}
    assert {name for name, each in made.items() if each.read_only} == {"terminal_list", "terminal_read"}
    assert {name for name, each in made.items() if each.parallel is True} == {
        "terminal_list",
        "terminal_read",
    }
    assert all(each.timeout for each in made.values())


def test_the_extra_is_named_where_it_is_missing():
    import subprocess

    source = "import sys; sys.modules['pyte'] = None; import codemode.toolkits.terminal"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert "the terminal toolkit needs pyte; install it with: pip install 'codemode[terminal]'" in done.stderr


# --------------------------------------------------------------------------------------- endings


async def test_closing_ends_everything_in_it(root, confined, monkeypatch):
    monkeypatch.setattr(command, "GRACE_SECONDS", 0.3)
    async with engine(terminal(root, confined=confined, environment=ENVIRONMENT)) as tools:
        id = await opened(tools)
        await send(
            tools, id, "trap '' HUP; nohup sleep 915005 & setsid sleep 915005 & sleep 915005", timeout_ms=300
        )
        assert await eventually(lambda: processes("sleep 915005"))
        values = []

        async def close():
            values.append((await tools.value("terminal_close", sessionId=id))["outcome"])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(close)
            nursery.start_soon(close)
        assert sorted(values) == ["already-closing", "closed"]
        assert await eventually(lambda: processes("sleep 915005") == set())
        assert await tools.value("terminal_list") == []


async def test_a_terminal_whose_program_is_killed(tools):
    id = await opened(tools)
    value = await send(tools, id, "kill -9 $$")
    assert value["waitReason"] == "session_exit"
    assert value["sessionStatus"] == {"kind": "exited", "exitCode": None, "signal": "SIGKILL"}
