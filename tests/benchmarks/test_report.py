"""A report becomes a table, a page and plots, all from its JSON; the page in the documentation is of its JSON."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import page, plots, profile
from benchmarks.__main__ import main
from benchmarks.records import Check, Curve, Grid, Report, Row, Series, Spread, percentiles_of, read, write
from benchmarks.table import amount, markdown, summary, summary_lines
from benchmarks.unconfined import unconfined


def _series(engine: str, median: float, note: str = "") -> Series:
    samples = [median * (1 + n / 100) for n in range(-20, 21)]
    spread = Spread(median * 0.9, median, median * 1.2, 41)
    return Series(
        engine=engine, what="it", unit="s", spread=spread, percentiles=percentiles_of(samples), note=note
    )


REPORT = Report(
    machine={"processor": "a | b", "load": "0.1"},
    versions={"codemode": "1"},
    missing={"smolagents": "not installed"},
    options={},
    seconds=1.5,
    rows=[
        Row(
            id="P1",
            name="fresh-run",
            title="Fresh run: whole",
            checks=[Check(against="peer", unit="×", bound=1.0, figure=Spread(0.8, 0.9, 1.1, 9))],
            series=[_series("codemode", 0.001, "log in memory"), _series("peer", 0.002)],
            notes=["A note."],
        ).judged(),
        Row(
            id="P2",
            name="nested-call",
            title="Nested call",
            checks=[
                Check(against="peer", unit="×", bound=0.5, note="not installed"),
                Check(against="trip", unit="×", bound=2.5, figure=Spread(3, 4, 5, 9)),
            ],
            series=[
                _series("codemode", 0.0002),
                Series(engine="x", what="it", unit="s", note="cannot: yield"),
            ],
        ).judged(),
        Row(
            id="P4",
            name="values",
            title="Values",
            curves=[Curve(plot="values", name="codemode", points=[(1, 0.001), (10, 0.002)])],
        ),
        Row(
            id="P5",
            name="throughput",
            title="Runs",
            curves=[Curve(plot="throughput", name="codemode", points=[(1, 900.0), (2, 1100.0)])],
        ),
        Row(
            id="W",
            name="workload",
            title="Task",
            grids=[
                Grid(
                    title="Bytes",
                    columns=["task", "bytes"],
                    lines=[("10 calls", [1234.0]), ("one", ["none"])],
                )
            ],
            curves=[
                Curve(plot="context", name="one program", points=[(1, 594.0), (10, 595.0)]),
                Curve(plot="calls", name="one program", points=[(1, 0.01), (10, 0.02)]),
            ],
        ),
    ],
)


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    write(REPORT, tmp_path / "new" / "report.json")
    assert read(tmp_path / "new" / "report.json") == REPORT


def test_the_table_says_figure_target_and_whether_it_holds() -> None:
    lines = summary(REPORT.rows)
    assert [line[0] for line in lines] == ["", "P1", "P2", ""]
    assert lines[1][2:] == ["0.90 ×", "0.80 × – 1.10 ×", "at most 1.00 ×", "peer", "yes"]
    assert lines[2][2:] == ["–", "not installed", "at most 0.50 ×", "peer", "not measured"]
    assert lines[3][2:] == ["4.00 ×", "3.00 × – 5.00 ×", "at most 2.50 ×", "trip", "no"]
    said = "\n".join(summary_lines(REPORT))
    assert "cannot: yield" in said
    assert "missing: smolagents: not installed" in said


def test_amounts_are_read_at_a_glance() -> None:
    assert [amount(value, "s") for value in (0.0000123, 0.00456, 0.789, 12.3)] == [
        "12.3 µs",
        "4.56 ms",
        "789 ms",
        "12.3 s",
    ]
    assert (amount(1234, "/s"), amount(2.5, "MiB"), amount(250, "ms")) == ("1,234/s", "2.50 MiB", "250 ms")


def test_a_cell_cannot_break_a_table() -> None:
    assert markdown([["a", "b"], ["x | y", "z"]]) == ["| a | b |", "| --- | --- |", "| x \\| y | z |"]


def test_the_page_keeps_its_own_words_and_gets_what_was_measured() -> None:
    text = "# Own\n<!-- measured: summary -->\nformer\n<!-- end -->\nwords\n<!-- measured: plots -->\n<!-- end -->\n"
    filled = page.fill(text, REPORT, "p")
    assert filled.startswith("# Own\n<!-- measured: summary -->\n|  | figure |")
    assert "former" not in filled
    assert "\nwords\n" in filled
    assert "(p/latency.svg)" in filled
    assert page.fill(filled, REPORT, "p") == filled
    with pytest.raises(ValueError, match="'nothing'"):
        page.fill("<!-- measured: nothing -->\n<!-- end -->\n", REPORT)


def test_the_documentation_says_what_its_json_says() -> None:
    report = read(page.DEFAULT_REPORT)
    text = page.DEFAULT_PAGE.read_text(encoding="utf-8")
    assert page.fill(text, report) == text, "python -m benchmarks --from docs/performance.json --publish"
    assert {row.name for row in report.rows} >= {"fresh-run", "nested-call", "workload"}
    shown = set(page.parts(report)["plots"].split("](")[1:])
    assert {path.partition(")")[0] for path in shown} == {f"plots/{name}.svg" for name in plots.PLOTS}
    assert all((page.DEFAULT_PLOTS / f"{name}.svg").exists() for name in plots.PLOTS)


def test_plots_are_drawn_the_same_each_time_and_need_nothing_else(tmp_path: Path) -> None:
    first = plots.draw(REPORT, tmp_path / "first")
    second = plots.draw(REPORT, tmp_path / "second")
    assert [path.stem for path in first] == ["latency", "calls", "values", "throughput"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        root = ElementTree.fromstring(one.read_bytes())
        assert root.tag.endswith("svg")
        assert not root.findall(".//{http://www.w3.org/2000/svg}text")  # outlines: no font is needed
        assert not root.findall(".//{http://purl.org/dc/elements/1.1/}date")


def test_a_plot_without_its_rows_is_not_drawn(tmp_path: Path) -> None:
    few = Report(machine={}, versions={}, missing={}, options={}, seconds=0, rows=REPORT.rows[2:3])
    assert [path.stem for path in plots.draw(few, tmp_path)] == ["values"]


def test_one_command_writes_json_plots_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, text = tmp_path / "report.json", tmp_path / "page.md"
    write(REPORT, source)
    text.write_text("<!-- measured: details -->\n<!-- end -->\n", encoding="utf-8")
    copy = tmp_path / "copy.json"
    options = [
        "--from",
        str(source),
        "--json",
        str(copy),
        "--plots",
        str(tmp_path / "p"),
        "--page",
        str(text),
    ]
    assert main(options) == 0
    assert read(copy) == REPORT
    assert "| 10 calls | 1,234 |" in text.read_text(encoding="utf-8")
    assert (tmp_path / "p" / "calls.svg").exists()
    assert "P1  Fresh run: whole" in capsys.readouterr().out


def test_measuring_one_row_writes_that_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "compiling", "--scale", "0.01", "--json", str(tmp_path / "report.json")]) == 0
    report = read(tmp_path / "report.json")
    assert [row.name for row in report.rows] == ["compiling"]
    assert report.rows[0].checks[0].holds in (True, False)
    assert report.missing["smolagents"] == "not measured; --peers does"
    assert report.machine["load"]
    assert "P7" in capsys.readouterr().out


def test_a_page_without_plots_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--page", "x.md"]) == 2
    assert "--page needs --plots" in capsys.readouterr().err


def test_a_profile_has_sums_and_stages_of_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = signal.getsignal(signal.SIGALRM)
    assert main(["profile", "--seconds", "0.2", "--json", str(tmp_path / "profile.json")]) == 0
    found = json.loads((tmp_path / "profile.json").read_text())["profile"]
    for what in ("a fresh run", "a nested call"):
        assert dict(found[f"{what}: sums"]).keys() >= {"wall time"}
        assert f"{what}: the host while it works, by room" in found
        assert f"{what}: the guest while it works, by function" in found
    assert "sandbox" in dict(found["a nested call: the host while it works, by room"])
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL)[1] == 0
    assert "a fresh run: sums" in capsys.readouterr().out


def test_shares_are_of_the_whole_and_the_small_are_summed_up() -> None:
    counts = Counter({"tools/a.py: f": 6, "tools/b.py: g": 2, "wire.py: h": 1, "session/s.py: i": 1})
    assert profile.shares(counts, most=2) == [
        ("tools/a.py: f", "60.0%"),
        ("tools/b.py: g", "20.0%"),
        ("2 others", "20.0%"),
    ]
    assert profile.by_room(counts) == Counter({"tools": 8, "wire.py": 1, "session": 1})
    assert profile.shares(Counter()) == [("nothing was sampled", "–")]


def test_programs_run_in_the_process_without_a_wall() -> None:
    serving = "for descriptor in channels():\n    program.serve(descriptor)\n    os.close(descriptor)\ntell('over')\n"
    with unconfined(serving) as guest:
        guest.run("return tools.increment(n=4)", 5)
        with pytest.raises(AssertionError, match="gave 5 where 6 was due"):
            guest.run("return tools.increment(n=4)", 6)
        with pytest.raises(TypeError, match="ended otherwise"):
            guest.run("return 1 / 0", None)
        guest.end()
        assert guest.told() == "over"
