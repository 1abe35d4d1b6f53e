"""Text that is cut in the middle: the same whether it is whole or in lines."""

from hypothesis import given
from hypothesis import strategies as st

from codemode.rendering import cut_middle, cut_middle_of

LINES = st.lists(st.text(st.characters(codec=None), max_size=30), max_size=12)


@given(LINES, st.integers(0, 200), st.sampled_from(["", "ask for the rest"]))
def test_lines_are_cut_as_the_text_that_they_make(lines, bound, note):
    assert cut_middle_of(lines, bound, note) == cut_middle("\n".join(lines), bound, note)


@given(LINES.filter(bool), st.integers(80, 300))
def test_what_is_cut_has_the_head_the_tail_and_the_size(lines, bound):
    text = "\n".join(lines)
    data = text.encode("utf-8", "backslashreplace")
    cut = cut_middle(text, bound)
    assert len(cut.encode()) <= bound
    if len(data) <= bound:
        assert cut.encode() == data
        return
    head, _, rest = cut.partition("\n[… ")
    size, _, tail = rest.partition(" bytes in all, cut here …]\n")
    assert int(size.replace(",", "")) == len(data)
    assert data.startswith(head.encode())
    assert data.endswith(tail.encode())
    room = bound - len(f"\n[… {len(data):,} bytes in all, cut here …]\n".encode())
    assert room - 6 <= len(head.encode()) + len(tail.encode()) <= room
