"""What a terminal shows, fed with bytes: against what pyte shows alone, with floods, and with anything."""

import pyte
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codemode.toolkits.terminal.screen import COLUMNS, HISTORY_BYTES, HISTORY_LINES, ROWS, Screen
from codemode.toolkits.terminal.sequences import Control, Sequences


def shown(data, pieces=1):
    made = Screen()
    size = max(len(data) // pieces, 1)
    for at in range(0, len(data), size):
        made.feed(data[at : at + size])
    return made


def test_text_and_colours():
    made = shown(b"\x1b[1;31mred\x1b[0m plain\r\n\x1b[2Kline\x1b[10Gten")
    assert made.rows() == ["red plain", "line     ten"]
    assert made.at == 1


def test_lines_that_leave_at_the_top_are_kept():
    made = shown(b"".join(b"%d\r\n" % n for n in range(100)))
    assert made.lines() == [str(n) for n in range(100)]
    assert made.rows() == [str(n) for n in range(61, 100)]
    assert (made.first, made.at) == (0, 100)
    assert made.lines(97) == ["97", "98", "99"]


def test_the_history_is_bounded_in_lines_and_in_size():
    made = shown(b"".join(b"%d\r\n" % n for n in range(HISTORY_LINES + 500)), pieces=7)
    assert len(made.lines()) == HISTORY_LINES + ROWS - 1
    assert made.first == 500 - (ROWS - 1)
    assert made.lines()[0] == str(made.first)
    long = shown((b"x" * COLUMNS + b"\r\n") * 40_000, pieces=50)
    assert len("\n".join(long.lines())) <= HISTORY_BYTES + ROWS * COLUMNS


def test_a_full_screen_program_leaves_what_was_there_before():
    made = shown(b"before\r\n\x1b[?1049h\x1b[2J\x1b[5;3Hinside")
    assert made.is_alternate
    assert made.rows() == ["", "", "", "", "  inside"]
    assert made.at == 1
    made.feed(b"\r\n" * 100 + b"\x1b[?1049lafter")
    assert not made.is_alternate
    assert made.rows() == ["before", "after"]
    assert made.lines() == ["before", "after"]


@pytest.mark.parametrize(
    ("sent", "rows"),
    [
        (b"a\x1b]0;a title\x07b", ["ab"]),
        (b"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", ["alinkb"]),
        (b"a\x1bP+q544e\x1b\\b", ["ab"]),
        (b"a\x1b[>4;2m\x1b[?4m\x1b[<u\x1b[=1cb", ["ab"]),
        (b"a\x1b[4:3mb\x1b[ qc\x1b[!pd", ["abcd"]),
        (b"a\x1b(0b\x1b)Bc\x1b=d\x1b>e", ["abcde"]),
        (b"ab\x1b[3bc", ["abbbbc"]),
        (b"1\r\n2\r\n3\x1b[1S", ["2", "3"]),
        (b"1\r\n2\x1b[1T", ["", "1", "2"]),
        (b"a\x1b[?3hb", ["ab"]),
        (b"a\x1b[1;2;3;4;5Ab", ["ab"]),
        (b"x" * 300, ["x" * 160, "x" * 140]),
        (b"caf\xc3\xa9 \xe4\xbd\xa0", ["café 你"]),
        (b"a\xffb\x00c\x7fd", ["a\ufffdbcd"]),
        (b"e" + "\u0301".encode() * 100, ["e\u0301".replace("e\u0301", "é") + "\u0301" * 3]),
    ],
)
@pytest.mark.parametrize("pieces", [1, 5, 100])
def test_sequences(sent, rows, pieces):
    assert shown(sent, pieces).rows() == rows


def test_a_program_gets_the_answers_it_asks_for():
    made = shown(b"ab\r\nc\x1b[6n\x1b[c")
    assert made.replies == b"\x1b[2;2R\x1b[?6c"
    assert made.replies == b""


def test_clearing_the_scrollback_clears_it():
    made = shown(b"x\r\n" * 100 + b"\x1b[H\x1b[2J\x1b[3Jnew")
    assert made.lines() == ["new"]


LINES = st.lists(
    st.text(alphabet=" ab\t~", max_size=4) | st.just("x" * 161) | st.just("ü" + "y" * 159), max_size=4
)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(LINES, st.integers(1, 60)), min_size=1, max_size=2), st.integers(1, 9))
def test_a_flood_is_shown_as_if_it_had_been_drawn(parts, pieces):
    data = "".join(
        "".join(f"{line}\r\n" for line in lines) * times + "tail" for lines, times in parts
    ).encode()
    fast = shown(data, pieces)
    slow = Screen()
    slow._flood = lambda text: None
    slow.feed(data)
    assert fast.rows() == slow.rows()
    assert fast.lines() == slow.lines()
    assert (fast.first, fast.at) == (slow.first, slow.at)


TOKENS = st.sampled_from(
    [
        b"\x1b",
        b"[",
        b"]",
        b"?",
        b"1049",
        b"h",
        b"l",
        b";",
        b"9999999999",
        b"m",
        b"P",
        b"\\",
        b"\x07",
        b"H",
        b"J",
        b"r",
    ]
    + [
        b"S",
        b"T",
        b"b",
        b"L",
        b"@",
        b"X",
        b"\r\n",
        b"\xc3",
        b"\xa9",
        b"text",
        b"\x9b",
        b"(0",
        b"#8",
        b"c",
        b"7",
        b"8",
    ]
)


@settings(deadline=None)
@given(st.lists(TOKENS | st.binary(max_size=5), max_size=60), st.integers(1, 9))
@example([b"\x1b[?1049h", b"\x1b[?1049h", b"\x1bc", b"\x1b[?1049l"], 1)
def test_nothing_breaks_the_screen(tokens, pieces):
    made = shown(b"".join(tokens), pieces)
    assert len(made.rows()) <= ROWS
    made.feed(b"\x18\x1b\\\x07\x1bc\x1b[?1049l\x1b[2J\x1b[Hstill here")
    assert made.rows()[0] == "still here"


@given(st.text(alphabet="\x1b[]P\\;?01m\x07ab"), st.integers(1, 9))
def test_pieces_make_no_difference(text, size):
    whole = Sequences()
    pieces = Sequences()
    cut = [part for at in range(0, len(text), size) for part in pieces.split(text[at : at + size])]
    assert joined(cut) == joined(list(whole.split(text)))


def joined(parts):
    """Parts with neighbouring texts put together."""
    found = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return found


def test_a_sequence_without_an_end_takes_no_memory():
    sequences = Sequences()
    assert list(sequences.split("\x1b]0;title")) == []
    for _ in range(1000):
        assert list(sequences.split("x" * 1000)) == []
    assert len(sequences._rest) <= 1
    sequences = Sequences()
    got = [part for _ in range(100) for part in sequences.split("\x1b[" + "1;" * 1000)]
    assert len(sequences._rest) <= 128
    assert all(isinstance(part, str | Control) for part in got)


def test_without_anything_special_it_is_pyte():
    data = b"one\r\ntwo\x1b[1;1H\x1b[31mX\x1b[0m\x1b[3;5Hthree\x1b[1K\x1b[4;1Ha\tb"
    plain = pyte.Screen(COLUMNS, ROWS)
    pyte.ByteStream(plain).feed(data)
    assert shown(data).rows() == [line.rstrip() for line in plain.display][:4]


def test_of_a_flood_only_the_last_lines_are_drawn(monkeypatch):
    drawn = []
    draw = pyte.Screen.draw
    monkeypatch.setattr(pyte.Screen, "draw", lambda self, data: (drawn.append(data), draw(self, data)))
    made = shown(b"\x1b[32mprompt$ \x1b[0m" + b"a line of a log file\r\n" * 20_000)
    assert made.at == 20_000
    assert len(drawn) < 3 * ROWS
