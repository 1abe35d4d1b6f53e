"""`codemode run` and `codemode demo`, as a shell sees them."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


def codemode(*arguments, cwd, stdin="", **options):
    return subprocess.run(
        [sys.executable, "-m", "codemode", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": ""},
        check=False,
        **options,
    )


@pytest.fixture
def place(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "b.txt").write_text("two\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.txt").write_text("four\n")
    return tmp_path


def program(place, source):
    path = place / "program.py"
    path.write_text(textwrap.dedent(source))
    return path


def test_a_program_file_runs_over_the_workspace(place):
    path = program(
        place,
        """
        lines = {p: tools.read(p)["totalLines"] for p in tools.glob("*.txt")["paths"]}
        print("files:", len(lines))
        return dict(sorted(lines.items()))
        """,
    )
    done = codemode("run", path, "--workspace", place, cwd="/")
    assert done.returncode == 0, done.stderr
    assert done.stdout == 'files: 3\n{\n  "a.txt": 3,\n  "b.txt": 1,\n  "sub/c.txt": 1\n}\n'
    assert done.stderr == ""


def test_a_program_can_come_from_standard_input_and_the_workspace_is_the_current_directory(place):
    done = codemode(
        "run", "-", cwd=place, stdin="return [m['lineNumber'] for m in tools.grep('two')['matches']]"
    )
    assert (done.returncode, sorted(json.loads(done.stdout))) == (0, [1, 2])


@pytest.mark.parametrize(
    ("source", "code", "expected"),
    [
        ("print('a')\nreturn {'n': 2**70}", 0, {"logs": ["a"], "result": {"n": 2**70}}),
        ("print('a')", 0, {"logs": ["a"]}),
        ("return None", 0, {"logs": [], "result": None}),
        ("return 'é\\n'", 0, {"logs": [], "result": "é\n"}),
    ],
)
def test_json_is_exactly_one_object(place, source, code, expected):
    done = codemode("run", "-", "--json", cwd=place, stdin=source)
    assert done.returncode == code
    assert json.loads(done.stdout) == expected
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_a_failed_run_is_exit_code_1_with_kind_and_message(place):
    done = codemode("run", "-", "--json", cwd=place, stdin="print('before')\nreturn 1 / 0")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer["logs"] == ["before"]
    assert answer["error"]["kind"] == "exception"
    assert "ZeroDivisionError: division by zero" in answer["error"]["message"]
    assert set(answer) == {"logs", "error"}

    done = codemode("run", "-", cwd=place, stdin="print('before')\nreturn 1 / 0")
    assert (done.returncode, done.stdout) == (1, "before\n")
    assert done.stderr.startswith("run failed (exception): ")


@pytest.mark.parametrize(
    ("option", "value", "source", "kind", "says"),
    [
        ("--timeout", "0.5", "import time\ntime.sleep(30)", "timeout", "--timeout"),
        ("--cpu", "0.5", "while True: pass", "timeout", "--cpu"),
        ("--memory", "64M", "x = bytearray(300_000_000)", "memory-limit", "--memory"),
        ("--memory", "64", "x = bytearray(300_000_000)", "memory-limit", "--memory"),
        ("--max-calls", "3", "for _ in range(9): tools.glob('*')", "call-limit", "--max-calls"),
    ],
)
def test_limits_can_be_set_and_messages_name_the_option(place, option, value, source, kind, says):
    done = codemode("run", "-", "--json", option, value, cwd=place, stdin=source)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["kind"]) == (1, kind)
    assert says in error["message"]


def test_files_are_changed_only_with_write(place):
    source = "tools.write('new.txt', 'hello\\n')\nreturn tools.edit('a.txt', 'two', '2')['after']"
    refused = codemode("run", "-", "--json", cwd=place, stdin=source)
    assert refused.returncode == 1
    assert "write" in json.loads(refused.stdout)["error"]["message"]
    assert not (place / "new.txt").exists()
    done = codemode("run", "-", "--json", "--write", cwd=place, stdin=source)
    assert json.loads(done.stdout) == {"logs": [], "result": "one\n2\nthree\n"}
    assert (place / "new.txt").read_text() == "hello\n"


def test_packages_of_the_current_directory_can_be_given(place):
    (place / "shapes.py").write_text("def area(side):\n    return side * side\n")
    path = program(place, "import shapes\nreturn shapes.area(3)\n")
    done = codemode("run", path, "--package", "shapes", cwd=place)
    assert (done.returncode, done.stdout, done.stderr) == (0, "9\n", "")
    done = codemode("run", path, "--trusted-package", "shapes", cwd=place)
    assert (done.returncode, done.stdout, done.stderr) == (0, "9\n", "")
    done = codemode("run", path, "--package", "no_such_package", cwd=place)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "codemode: the package 'no_such_package' is not installed in the environment of "
    )
    done = codemode("run", path, "--package", "my-shapes", cwd=place)
    assert done.returncode == 2
    assert (
        done.stderr == "codemode: Package('my-shapes'): must be a name as it is imported, such as 'numpy'\n"
    )


def test_tools_of_ones_own_are_given_by_module_and_name(place):
    (place / "shop.py").write_text(
        "from codemode import tool, as_json\n"
        "@tool(render=as_json)\n"
        "def price(item: str) -> float:\n    'The price.'\n    return {'apple': 0.5}[item]\n"
        "@tool(render=as_json)\n"
        "async def stock(item: str) -> int:\n    'The stock.'\n    return 3\n"
        "TOOLS = [price, stock]\n"
    )
    done = codemode("run", "-", "--tools", "shop:price", "--tools", "shop:stock", cwd=place,
                    stdin="return tools.price('apple') * tools.stock('apple')")  # fmt: skip
    assert (done.stdout, done.returncode) == ("1.5\n", 0), done.stderr
    done = codemode("run", "-", "--tools", "shop:TOOLS", cwd=place, stdin="return sorted(tools)")
    assert json.loads(done.stdout) == ["glob", "grep", "price", "read", "stock"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "missing.py"], "cannot read the program missing.py: No such file or directory"),
        (["run", "latin.py"], "the program latin.py is no UTF-8 text (byte 5)"),
        (["run", "-", "--workspace", "nowhere"], "--workspace nowhere: no such directory"),
        (["run", "-", "--tools", "shop"], "--tools shop: write MODULE:NAME"),
        (["run", "-", "--tools", "no_such_module:x"], "importing no_such_module failed"),
        (["run", "-", "--tools", "bare:missing"], "has no attribute 'missing'"),
        (["run", "-", "--tools", "bare:plain"], "is no tool; decorate the function with @tool"),
        (
            ["run", "-", "--tools", "bare:READ"],
            "--tools bare:READ: there is a tool 'read' already; give this one",
        ),
        (["run", "-", "--allow", "reed"], "--allow reed: there is no such tool; there are: glob, grep, read"),
        (["run", "/dev/zero"], "the program /dev/zero is longer than 1,048,576 bytes"),
        (["run", "\x1b]0;x\x07.py"], "cannot read the program \\x1b]0;x\\x07.py"),
        (
            ["run", "-", "--timeout", "0"],
            "argument --timeout: '0' is no time; write a number of seconds above 0",
        ),
        (["run", "-", "--timeout", "soon"], "argument --timeout: 'soon' is no time"),
        (["run", "-", "--cpu", "nan"], "argument --cpu: 'nan' is no time"),
        (["run", "-", "--memory", "0"], "'0' is no size"),
        (["run", "-", "--memory", "lots"], "'lots' is no size; write 512M or 2G"),
        (["run", "-", "--max-calls", "-1"], "argument --max-calls: '-1' is no number"),
        (["run"], "the following arguments are required: PROGRAM"),
        (["dance"], "invalid choice: 'dance'"),
        ([], "required: COMMAND"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_what_to_write(place, arguments, says):
    (place / "latin.py").write_bytes("s = '\xe9'".encode("latin-1"))
    (place / "bare.py").write_text(
        "from codemode import tool, as_json\ndef plain() -> int: return 1\n"
        "READ = tool(render=as_json, name='read')(plain)\n"
    )
    done = codemode(*arguments, cwd=place, stdin="return 1")
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_the_session_file_keeps_every_call(place):
    done = codemode(
        "run", "-", "--session", "log.db", cwd=place, stdin="tools.read('a.txt')\ntools.glob('*')"
    )
    assert done.returncode == 0
    with sqlite3.connect(place / "log.db") as database:
        counts = dict(database.execute("SELECT type, count(*) FROM events GROUP BY type"))
    assert (counts["tool/code-dispatch-start"], counts["tool/code-dispatch"]) == (2, 2)


def test_a_session_that_is_no_session_is_refused_untouched(place):
    (place / "notes.db").write_text("my notes")
    done = codemode("run", "-", "--session", "notes.db", cwd=place, stdin="return 1")
    assert done.returncode == 1
    assert "notes.db" in done.stderr
    assert "Traceback" not in done.stderr
    assert (place / "notes.db").read_text() == "my notes"


def test_printed_text_streams_as_it_comes(place):
    process = subprocess.Popen(
        [sys.executable, "-m", "codemode", "run", "-"],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    process.stdin.write(b"import time\nprint('first')\ntime.sleep(20)\nprint('second')")
    process.stdin.close()
    assert process.stdout.readline() == b"first\n"
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    process.stdout.close()


def test_an_interrupted_run_leaves_no_process_behind(place):
    process = subprocess.Popen(
        [sys.executable, "-m", "codemode", "run", "-"],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "CODEMODE_TEST_MARK": str(place)},
        start_new_session=True,
    )
    process.stdin.write(b"print('up')\nwhile True: pass")
    process.stdin.close()
    assert process.stdout.readline() == b"up\n"
    process.kill()
    process.wait(timeout=20)
    process.stdout.close()
    deadline = time.monotonic() + 10
    while _group(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _group(process.pid) == []


def _group(session_id):
    """The processes that belong to a session, by the kernel's own list."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session_id and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def test_a_reader_that_goes_away_is_no_traceback(place):
    done = subprocess.run(
        f"{sys.executable} -m codemode run - | head -n 1",
        shell=True,
        cwd=place,
        input="for i in range(30_000): print('line', i)",
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        timeout=60,
        check=False,
    )
    assert done.stdout == "line 0\n"
    assert "Traceback" not in done.stderr


def test_a_signal_ends_a_run_with_a_complete_log(place):
    process = subprocess.Popen(
        [sys.executable, "-m", "codemode", "run", "-", "--session", "log.db"],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    process.stdin.write(b"tools.read('a.txt')\nprint('up')\nwhile True: pass")
    process.stdin.close()
    assert process.stdout.readline() == b"up\n"
    process.terminate()
    assert process.wait(timeout=20) == 128 + signal.SIGTERM
    process.stdout.close()
    with sqlite3.connect(place / "log.db") as database:
        types = [row[0] for row in database.execute("SELECT type FROM events ORDER BY seq")]
    assert types[-4:] == ["tool/code-dispatch-start", "tool/code-dispatch", "run/end", "tool/result"]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_output_that_cannot_be_written_is_said_and_no_traceback(place, options):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "codemode", "run", "-", *options],
            cwd=place,
            input=b"print('x')\nreturn 1",
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"codemode: cannot write the output: No space left on device\n"


def test_a_command_without_standard_streams_runs(place):
    path = program(place, "tools.glob('*')\nprint('x')")
    done = subprocess.run(
        f"{sys.executable} -m codemode run {path} <&- >&- 2>&-",
        shell=True,
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0


def test_a_program_cannot_steer_the_terminal(place):
    path = program(place, r"print('\x1b]0;title\x07red\x1b[31m', '\u202egnp')")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "codemode", "run", path],
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    os.close(follower)
    shown = b""
    try:
        while piece := os.read(leader, 4096):
            shown += piece
    except OSError:
        pass
    process.wait(timeout=20)
    os.close(leader)
    assert shown.decode().strip() == r"\x1b]0;title\x07red\x1b[31m \u202egnp"


def test_the_demonstration_shows_program_calls_and_result():
    done = codemode("demo", cwd="/")
    assert done.returncode == 0, done.stderr
    assert "   1 import asyncio" in done.stdout
    assert "ok glob" in done.stdout
    assert "What the model gets back" in done.stdout
    assert '"files":' in done.stdout
    assert "\x1b" not in done.stdout


def test_the_demonstration_takes_another_tree(place):
    (place / "one.py").write_text("def f():\n    return 1\n")
    done = codemode("demo", "--workspace", place, cwd="/")
    assert "1 files, 2 lines, 1 functions" in done.stdout


ASKING = (
    "from codemode import tool, as_json\n"
    "@tool(render=as_json, approval='deletes a file')\n"
    "def delete(path: str) -> str:\n    'Delete.'\n    return 'deleted ' + path\n"
)


def test_without_a_terminal_a_tool_that_asks_is_denied_and_the_message_says_how_to_allow(place):
    (place / "danger.py").write_text(ASKING)
    arguments = ["run", "-", "--json", "--tools", "danger:delete"]
    denied = codemode(*arguments, cwd=place, stdin="tools.delete('x')", start_new_session=True)
    message = json.loads(denied.stdout)["error"]["message"]
    assert "deletes a file: this needs approval, and there is no terminal to ask on" in message
    assert "--allow delete" in message
    allowed = codemode(*arguments, "--allow", "delete", cwd=place, stdin="return tools.delete('x')")
    assert json.loads(allowed.stdout)["result"] == "deleted x"


def on_a_terminal(place, source, *answers):
    """Run a program on a pseudo-terminal; type an answer at each question; return everything that was shown."""
    (place / "danger.py").write_text(ASKING)
    path = program(place, source)
    child, leader = pty.fork()
    if child == 0:
        os.chdir(place)
        os.environ.update(PYTHONPATH=str(PROJECT), NO_COLOR="1")
        os.execv(
            sys.executable, [sys.executable, "-m", "codemode", "run", str(path), "--tools", "danger:delete"]
        )
    shown, waiting = "", list(answers)
    try:
        while piece := os.read(leader, 4096):
            shown += piece.decode()
            if waiting and shown.endswith("[n] no: "):
                os.write(leader, waiting.pop(0).encode() + b"\n")
    except OSError:
        pass
    os.waitpid(child, 0)
    os.close(leader)
    return shown.replace("\r\n", "\n")


def test_on_a_terminal_somebody_is_asked_and_can_answer_for_the_whole_run(place):
    source = "for n in range(3):\n    print(tools.delete(f'f{n}'))"
    shown = on_a_terminal(place, source, "what", "a")
    assert 'delete {"path": "f0"}\n  deletes a file\n' in shown
    assert shown.count("Allow this call?") == 2  # the first answer was none
    assert "deleted f0\ndeleted f1\ndeleted f2" in shown


def test_a_no_on_the_terminal_is_a_failure_that_the_program_can_catch(place):
    source = "try:\n    tools.delete('x')\nexcept ToolCallError as error:\n    print('caught', error.code)"
    assert "caught DENIED" in on_a_terminal(place, source, "n")
