"""Text that is made safe to look at."""

import unicodedata

from codemode.rendering import printable

KEPT = {"\t", "\n"}
NO_SUCH = {*range(0xE0000, 0xE0080)} | {
    0x2065
}  # tags and a place among the marks, also where nothing is assigned


def test_no_control_no_mark_of_direction_and_nothing_without_width_passes():
    marks = "\x1b\r\x9b\xad\u061c\u200b\u200e\u200f\u2028\u202e\u2066\ufeff\ud800\U000e0041"
    assert printable(marks) == ascii(marks)[1:-1]
    assert printable("a\tb\nÄ🙂") == "a\tb\nÄ🙂"


def test_what_is_hidden_is_what_unicode_calls_control_bidirectional_or_a_tag():
    passed = {char for char in map(chr, range(0x110000)) if printable(char) == char}
    bidirectional = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for char in passed - KEPT:
        assert unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"}, ascii(char)
        assert unicodedata.bidirectional(char) not in bidirectional, ascii(char)
        assert ord(char) not in NO_SUCH, ascii(char)
