"""`codemode run --toolkit NAME`, as a shell sees it, and questions on a terminal."""

import contextlib
import json
import os
import pty
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.toolkits.engine import processes

PROJECT = Path(__file__).parents[2]


def run(place, source, *options, **environment):
    return subprocess.run(
        [sys.executable, "-m", "codemode", "run", "-", "--json", *options],
        cwd=place,
        input=textwrap.dedent(source),
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **environment},
        check=False,
        start_new_session=True,  # no terminal to ask on
    )


def wrong_usage(done):
    assert (done.returncode, done.stderr) == (2, "")
    said = json.loads(done.stdout)["error"]
    assert said["kind"] == "usage"
    return said["message"]


def result(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["result"]


def on_a_terminal(place, source, *answers, options=()):
    """Run a program on a pseudo-terminal; type a line at each prompt; return everything that was shown."""
    path = place / "program.py"
    path.write_text(textwrap.dedent(source))
    child, leader = pty.fork()
    if child == 0:
        os.chdir(place)
        os.environ.update(PYTHONPATH=str(PROJECT), NO_COLOR="1")
        os.execv(sys.executable, [sys.executable, "-m", "codemode", "run", str(path), *options])
    shown, waiting = "", list(answers)
    try:
        while piece := os.read(leader, 4096):
            shown += piece.decode()
            if waiting and shown.endswith((": ", "? ")):
                os.write(leader, waiting.pop(0).encode())
    except OSError:
        pass
    os.waitpid(child, 0)
    os.close(leader)
    return shown.replace("\r\n", "\n")


def test_a_toolkit_adds_its_tools_and_its_events(tmp_path):
    source = "return tools.todo_write([{'content': 'a', 'status': 'pending'}])['counts']"
    done = run(tmp_path, source, "--toolkit", "todo", "--toolkit", "todo", "--session", "calls.db")
    assert result(done) == {"pending": 1, "inProgress": 0, "completed": 0}
    lines = subprocess.run(
        [sys.executable, "-m", "codemode", "log", "export", "calls.db"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        check=True,
    ).stdout
    assert '"type":"todo/write"' in lines.replace(": ", ":").replace(", ", ",")


def test_a_toolkit_that_there_is_none_of_is_wrong_usage(tmp_path):
    done = run(tmp_path, "return 1", "--toolkit", "nonsense")
    assert "todo" in wrong_usage(done)
    done = run(tmp_path, "return 1", "--toolkit", "todo", "--allow", "nonsense")
    assert (
        wrong_usage(done)
        == "--allow nonsense: there is no such tool; there are: glob, grep, read, todo_write"
    )


def test_the_web_toolkit_searches_with_the_provider_that_the_environment_names(tmp_path):
    source = "return sorted(name for name in dir(tools) if name.startswith('web'))"
    assert result(run(tmp_path, source, "--toolkit", "web")) == ["web_fetch"]
    found = result(run(tmp_path, source, "--toolkit", "web", BRAVE_API_KEY="key"))
    assert found == ["web_fetch", "web_search"]
    done = run(tmp_path, source, "--toolkit", "web", BRAVE_API_KEY="key", SEARXNG_URL="http://localhost")
    assert (
        wrong_usage(done)
        == "--toolkit web: SEARXNG_URL and BRAVE_API_KEY are set; set the one of them that is to search"
    )


def test_the_lsp_toolkit_ends_its_servers_with_the_command(tmp_path):
    (tmp_path / "a.py").write_text("def f(): ...\n\nf()\n")
    source = "return tools.lsp('goToDefinition', 'a.py', 3, 1)['locations'][0]['range']['start']"
    assert result(run(tmp_path, source, "--toolkit", "lsp")) == {"line": 0, "character": 4}
    assert working_in(tmp_path) == []


def working_in(directory):
    """The processes whose working directory it is, as a server's is its workspace."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(process / "cwd") == str(directory):
                found.append((process / "cmdline").read_bytes())
    return found


def test_the_skills_toolkit_looks_where_agent_clients_keep_skills(tmp_path):
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    for base, name in ((home / ".claude", "a"), (workspace / ".agents", "b")):
        folder = base / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\nDo {name}.\n")
    source = "return [tools.skill('a')['content'], tools.skill('b')['content']]"
    assert result(run(workspace, source, "--toolkit", "skills", HOME=str(home))) == ["Do a.", "Do b."]
    done = run(tmp_path, source, "--toolkit", "skills", HOME=str(tmp_path))
    assert (
        f"they are looked for in .agents/skills, .claude/skills, .codex/skills, {tmp_path}/.agents/skills"
        in wrong_usage(done)
    )


def test_plugins_are_mounted_when_that_is_allowed(tmp_path):
    (tmp_path / "p.py").write_text(
        "from codemode import tool, as_json\n@tool(render=as_json)\ndef f() -> int:\n    return 1\nTOOLS = f\n"
    )
    source = "return tools.plugin_mount('p.py')['tools']"
    done = run(tmp_path, source, "--toolkit", "plugins")
    assert "needs approval" in json.loads(done.stdout)["error"]["message"]
    assert result(run(tmp_path, source, "--toolkit", "plugins", "--allow", "plugin_mount")) == ["f"]


def test_an_extra_that_is_not_installed_is_named(tmp_path):
    (tmp_path / "httpcore.py").write_text("raise ImportError('not here', name='httpcore')\n")
    done = subprocess.run(
        [sys.executable, "-m", "codemode", "run", "-", "--toolkit", "web"],
        cwd=tmp_path,
        input="return 1",
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{PROJECT}"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        2,
        "codemode: --toolkit web: the web toolkit needs httpcore; install it with: pip install 'codemode[web]'\n",
    )


def test_without_a_terminal_nobody_is_there_to_be_asked(tmp_path):
    source = """
    try:
        tools.ask_user_question([{"id": "a", "question": "b"}])
    except ToolCallError as error:
        return error.code
    """
    assert result(run(tmp_path, source, "--toolkit", "questions")) == "NO_PROVIDER"


ASK = """
answers = tools.ask_user_question([
    {"id": "colour", "question": "Which\\x1b[31m colour?", "header": "Paint",
     "options": [{"label": "red", "description": "warm"}, {"label": "blue"}]},
    {"id": "sizes", "question": "Which sizes?", "options": [{"label": "S"}, {"label": "L"}], "multi_select": True},
    {"id": "name", "question": "What name?"},
])
print(answers)
"""


def test_on_a_terminal_questions_are_asked_one_after_the_other(tmp_path):
    shown = on_a_terminal(
        tmp_path, ASK, "3\n", "1 2\n", "2\n", "1,2\n", "\n", "7\n", options=["--toolkit", "questions"]
    )
    assert "Paint\nWhich\\x1b[31m colour?\n  1. red - warm\n  2. blue\n" in shown
    assert "There are options 1 to 2." in shown
    assert "Choose one." in shown
    assert (
        "{'answers': [{'id': 'colour', 'selected': ['blue']}, {'id': 'sizes', 'selected': ['S', 'L']}, "
        "{'id': 'name', 'selected': [], 'custom': '7'}]}"
    ) in shown


def test_the_end_of_input_means_that_there_is_no_answer(tmp_path):
    shown = on_a_terminal(tmp_path, ASK, "green\n", "\x04", options=["--toolkit", "questions"])
    assert "ToolCallError: the user did not answer" in shown


@pytest.mark.parametrize(
    ("typed", "says"), [("1\n", "created new.txt"), ("2\n", "keep planning"), ("no\n", "no")]
)
def test_a_program_plans_first_and_changes_files_only_when_the_plan_is_approved(tmp_path, typed, says):
    source = """
    try:
        tools.write("new.txt", "x")
    except ToolCallError as error:
        print(error.code)
    try:
        tools.exit_plan_mode("# Write a file")
        print("created", tools.write("new.txt", "x")["path"])
    except ToolCallError as error:
        print(error.code, error.message)
    """
    shown = on_a_terminal(tmp_path, source, typed, options=["--toolkit", "plan", "--write"])
    assert "DENIED\n" in shown
    assert "# Write a file\n  1. Approve - carry it out\n" in shown
    assert says in shown
    assert (tmp_path / "new.txt").exists() is (typed == "1\n")


def test_commands_run_once_they_are_allowed_and_leave_nothing(tmp_path):
    source = """
        job = tools.bash("sleep 914001", "wait", run_in_background=True)
        value = tools.bash("echo $((6 * 7)) > answer; cat answer", "compute")
        return [value["stdout"]["text"], tools.job_list()[0]["status"], job]
    """
    done = run(tmp_path, source, "--toolkit", "shell", "--allow", "bash")
    assert result(done) == ["42\n", "running", {"kind": "background", "jobId": "bash-1"}]
    assert (tmp_path / "answer").read_text() == "42\n"
    assert processes("sleep 914001") == set()


def test_a_command_that_nobody_can_allow_does_not_run(tmp_path):
    done = run(tmp_path, "tools.bash('touch made', 'd')", "--toolkit", "shell")
    assert done.returncode == 1
    assert "this needs approval, and there is no terminal to ask on" in done.stdout
    assert "--allow bash" in done.stdout
    assert not (tmp_path / "made").exists()


def test_a_terminal_shares_its_jobs_with_the_shell(tmp_path):
    source = """
        id = tools.terminal_open("bash")["sessionId"]
        job = tools.terminal_send(id, "echo $((6 * 7))", run_in_background=True)
        return [job["jobId"], tools.job_output(job["jobId"], wait=True)["text"].splitlines()[1]]
    """
    options = ("--toolkit", "terminal", "--toolkit", "shell", "--allow", "terminal_open")
    assert result(run(tmp_path, source, *options)) == ["pty-send-1", "42"]
