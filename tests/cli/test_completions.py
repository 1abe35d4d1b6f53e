"""`codemode completions`: what shells offer at a key, asked of the shells themselves."""

import os
import shutil
import subprocess
import sys

import pytest

from codemode.cli.main import COMMANDS, main
from tests.cli.test_command_line import PROJECT, codemode

LOG_ACTIONS = {"show", "list", "html", "follow", "export", "import"}


def shell(name):
    if shutil.which(name) is None:
        pytest.skip(f"no {name} on this machine: its completions were not tried")
    return name


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    place = tmp_path_factory.mktemp("completions")
    for name in ("bash", "zsh", "fish"):
        done = codemode("completions", name, cwd=place)
        assert (done.returncode, done.stderr) == (0, "")
        (place / name).write_text(done.stdout)
    (place / "calls.db").write_text("")
    (place / "sub").mkdir()
    return place


def run(place, *command):
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def in_bash(place, *words):
    quoted = " ".join(f"'{word}'" for word in words)
    line = (
        f"source ./bash; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
        "$(complete -p codemode | sed 's/.*-F //; s/ .*//'); printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    return set(run(place, shell("bash"), "--norc", "-c", line).split())


def in_fish(place, words):
    answer = run(place, shell("fish"), "--no-config", "-c", f"source ./fish; complete -C '{words}'")
    return {line.partition("\t")[0] for line in answer.splitlines()}


def test_bash_completes_commands_actions_options_values_and_files(scripts):
    assert in_bash(scripts, "codemode", "") >= set(COMMANDS)
    assert in_bash(scripts, "codemode", "log", "") >= LOG_ACTIONS
    assert in_bash(scripts, "codemode", "log", "html", "--") == {"--help", "--call", "--output"}
    assert in_bash(scripts, "codemode", "run", "--check", "") == {"off", "warn", "strict"}
    assert "calls.db" in in_bash(scripts, "codemode", "log", "show", "ca")
    assert in_bash(scripts, "codemode", "run", "--workspace", "") == {"sub"}


def test_fish_completes_the_same(scripts):
    assert in_fish(scripts, "codemode ") >= set(COMMANDS)
    assert in_fish(scripts, "codemode log ") >= LOG_ACTIONS
    assert in_fish(scripts, "codemode log html --") == {"--help", "--call", "--output"}
    assert in_fish(scripts, "codemode run --check ") == {"off", "warn", "strict"}
    assert "calls.db" in in_fish(scripts, "codemode log show ca")


def test_zsh_can_read_its_script_and_finds_every_command_in_it(scripts):
    assert run(scripts, shell("zsh"), "-n", "./zsh") == ""
    line = (
        "autoload -U compinit && compinit -u -D; _describe() { print -l -- ${(P)2} }; "
        'eval "$(<./zsh)"; _shtab_codemode_commands; _shtab_codemode_log_commands'
    )
    offered = {each.partition(":")[0] for each in run(scripts, "zsh", "-f", "-c", line).splitlines()}
    assert offered == {*COMMANDS, *LOG_ACTIONS}


def test_without_the_extra_the_cure_is_named(scripts):
    source = "import sys; sys.modules['shtab'] = None; from codemode.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", source, "completions", "bash"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "codemode: completions need shtab: pip install 'codemode[completions]'\n"


def test_a_shell_that_is_not_known_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["completions", "ksh"])
    assert "invalid choice: 'ksh' (choose from" in capsys.readouterr().err
