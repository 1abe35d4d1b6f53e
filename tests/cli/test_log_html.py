"""`codemode log html`, as a shell sees it, and its page in a real browser where there is one."""

import os
import shutil
import stat
import subprocess

import pytest
import trio
from PIL import Image

from codemode.session import Session
from tests.cli.test_command_line import codemode
from tests.cli.test_log import on_terminal
from tests.session.test_page import HOSTILE, hostile_events, nested, parse, run

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


async def write(path, events):
    async with Session.open(path) as session:
        for _, kind, data in events:
            session.append(kind, data)


@pytest.fixture
def place(tmp_path):
    events = [
        *run([nested(1, 1, 2), nested(2, 3, None, name="x" * 100)], program="y = " + "1 + " * 500 + "1")
    ]
    events += [
        (seq, kind, {**data, "callId": "c2"} if data.get("callId") == "c1" else data)
        for seq, kind, data in hostile_events(HOSTILE)
        if not kind.startswith("tool/code-dispatch")
    ]
    trio.run(write, tmp_path / "a.session", events)
    return tmp_path


def html(place, *arguments, **options):
    return codemode("log", "html", *arguments, cwd=place, **options)


def test_the_page_goes_to_standard_output_or_whole_into_a_private_file(place):
    printed = html(place, "a.session")
    assert (printed.returncode, printed.stderr) == (0, "")
    done = html(place, "a.session", "-o", "a.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (place / "a.html").read_text() == printed.stdout
    assert stat.S_IMODE(os.stat(place / "a.html").st_mode) == 0o600
    assert sorted(os.listdir(place)) == ["a.html", "a.session"]
    root = parse(printed.stdout)
    assert root.all("h1")[0].text == "a.session"
    assert [section.all("h2")[0].all("bdi")[1].text for section in root.all("section", "direct")][:2] == [
        "c1",
        "c2",
    ]


def test_one_call_makes_a_page_also_one_of_a_program(place):
    root = parse(html(place, "a.session", "--call", "c1:1").stdout)
    (section,) = root.all("section")
    assert section.all("h2")[0].text.startswith("read ok")
    assert [block.text for block in section.all("pre")] == ['{\n  "n": 1\n}', "ok"]
    missing = html(place, "a.session", "--call", "c9")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "there is no call 'c9' in a.session" in missing.stderr


def test_a_page_never_takes_the_place_of_a_session(place):
    before = (place / "a.session").read_bytes()
    os.link(place / "a.session", place / "b.session")
    for name in ("a.session", "b.session"):
        done = html(place, "a.session", "-o", name)
        assert (done.returncode, done.stderr) == (
            2,
            f"codemode: {name} is a session; write the page to another file\n",
        )
    assert (place / "a.session").read_bytes() == before


def test_a_place_that_cannot_be_written_is_named_and_what_was_there_is_kept(place):
    done = html(place, "a.session", "-o", "nowhere/a.html")
    assert done.returncode == 2
    assert done.stderr == "codemode: cannot write the page to nowhere/a.html: No such file or directory\n"
    (place / "a.html").write_text("kept")
    assert html(place, "missing.session", "-o", "a.html").returncode == 1
    assert (place / "a.html").read_text() == "kept"


def test_a_terminal_is_no_place_for_a_page(place):
    code, got = on_terminal(place, "html", "a.session")
    assert code == 2
    assert b"give it a file: codemode log html a.session -o page.html" in got
    assert b"<" not in got


def browse(place, page, *options):
    """Start a browser over a page; what it prints comes from `communicate`."""
    profile = place / f"profile-{len(os.listdir(place))}"
    profile.mkdir()
    fixed = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
    return subprocess.Popen(
        [BROWSER, *fixed, f"--user-data-dir={profile}", *options, (place / page).as_uri()],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.mark.skipif(
    BROWSER is None, reason="no Chromium on this machine: the page was not looked at in a browser"
)
def test_a_browser_shows_the_page_light_and_dark_narrow_and_wide_and_runs_nothing(place):
    assert html(place, "a.session", "-o", "a.html").returncode == 0
    page = (place / "a.html").read_text()
    probe = (
        "<script>document.title = 'ran ' + document.documentElement.scrollWidth + ' of ' + innerWidth + ' ' +"
        "getComputedStyle(document.querySelector('.waterfall summary')).gridTemplateColumns.split(' ').length"
        "</script></body>"
    )
    (place / "probe.html").write_text(page.replace("</body>", probe))
    allowed = page.replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'")
    (place / "open.html").write_text(allowed.replace("</body>", probe))
    dark = "--blink-settings=preferredColorScheme=0"
    started = [
        browse(place, "probe.html", "--dump-dom"),
        browse(place, "open.html", "--dump-dom", "--window-size=500,800"),
        browse(place, "open.html", "--dump-dom", "--window-size=1300,800"),
        browse(place, "a.html", "--window-size=600,400", f"--screenshot={place / 'light.png'}"),
        browse(place, "a.html", "--window-size=600,400", f"--screenshot={place / 'dark.png'}", dark),
    ]
    try:
        printed = [process.communicate(timeout=60)[0] for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    titles = [text.partition("<title>")[2].partition("</title>")[0] for text in printed[:3]]
    assert titles == ["a.session – codemode", "ran 500 of 500 2", "ran 1300 of 1300 3"]
    corners = [Image.open(place / name).convert("RGB").getpixel((1, 1)) for name in ("light.png", "dark.png")]
    assert corners == [(255, 255, 255), (0x14, 0x17, 0x1B)]
