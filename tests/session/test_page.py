"""A session as a page: what is on it, what cannot break out of it, how large it gets."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from codemode.session import Event
from codemode.session.page import MAX_BLOCKS, MAX_LINES, MAX_PAGE, MAX_TEXT, page
from codemode.session.page_waterfall import MAX_CALLS
from codemode.session.replay import replay

T = 1_790_000_000_000
PROGRAM = "first = tools.read(path='a')\n\nif first:\n\tprint('<b>')\n"
HOSTILE = (
    "</script></pre></details><script>alert(1)</script>\x1b[31m\u202e\x00\r\u2028<!-- &amp; ]]> \"' onload=x"
)
VOID = {"meta", "rect", "img"}


class Element:
    def __init__(self, tag, attributes, outer=None):
        self.tag, self.attributes, self.outer, self.inside = tag, attributes, outer, []

    @property
    def text(self):
        return "".join(each if isinstance(each, str) else each.text for each in self.inside)

    def all(self, tag=None, kind=None):
        found = []
        for each in self.inside:
            if isinstance(each, Element):
                classes = (each.attributes.get("class") or "").split()
                if tag in (None, each.tag) and (kind is None or kind in classes):
                    found.append(each)
                found.extend(each.all(tag, kind))
        return found


class Tree(HTMLParser):
    """Takes HTML apart, and refuses what is not closed in its order."""

    def __init__(self):
        super().__init__()
        self.root = self.now = Element("", {})
        self.oddities = []

    def handle_starttag(self, tag, attributes):
        element = Element(tag, dict(attributes), self.now)
        self.now.inside.append(element)
        if tag not in VOID:
            self.now = element

    def handle_startendtag(self, tag, attributes):
        self.now.inside.append(Element(tag, dict(attributes), self.now))

    def handle_endtag(self, tag):
        assert tag == self.now.tag, f"</{tag}> ends <{self.now.tag}>"
        self.now = self.now.outer

    def handle_data(self, data):
        self.now.inside.append(data)

    def handle_comment(self, data):
        self.oddities.append(data)

    unknown_decl = handle_pi = handle_comment


def parse(html):
    tree = Tree()
    tree.feed(html)
    tree.close()
    assert tree.now is tree.root
    assert tree.oddities == []
    return tree.root


def shown(*events, title="a.session", **options):
    """Return the page of events `(milliseconds, type, data)`, taken apart."""
    log = (Event(seq, T + at, kind, data) for seq, (at, kind, data) in enumerate(events))
    return parse("".join(page(replay(log), title, **options)))


def texts(*lines):
    return [{"type": "text", "text": line} for line in lines]


def nested(number, start, end, name="read", says="ok", is_error=False, arguments=None, call="c1"):
    data = {"rootCallId": call, "parentCallId": call, "subCallId": f"{call}:{number}", "name": name}
    data["arguments"] = {"n": number} if arguments is None else arguments
    yield start, "tool/code-dispatch-start", data
    if end is not None:
        yield end, "tool/code-dispatch", {**data, "content": texts(says), "isError": is_error}


def run(calls, program=PROGRAM, content=("printed", "result"), end=1000, call="c1"):
    digest = hashlib.sha256(program.encode()).hexdigest()
    yield 0, "tool/call", {"callId": call, "name": "run_code", "arguments": {"code": program}}
    yield 0, "run/start", {"callId": call, "programHash": digest}
    yield from sorted((each for one in calls for each in one), key=lambda event: event[0])
    yield end, "run/end", {"callId": call, "outcome": "ok"}
    yield end, "tool/result", {"callId": call, "content": texts(*content), "isError": False}


def test_a_run_is_its_program_in_lines_its_calls_and_what_was_shown():
    calls = [nested(1, 100, 600), nested(2, 200, 300, "grep", "no such", True), nested(3, 900, None, "fetch")]
    root = shown(*run(calls))
    (section,) = root.all("section")
    (program,) = section.all("ol", "program")
    assert [line.text for line in program.all("li")] == PROGRAM.removesuffix("\n").split("\n")
    assert program.all("li")[2].attributes["id"] == "e1-line-3"
    folded = section.all("details", "call")
    assert [each.attributes["class"] for each in folded] == ["call ok", "call failed", "call unfinished"]
    assert [each.all("span", "name")[0].text for each in folded] == ["read", "grep", "fetch"]
    bars = [each.all("rect", "span")[0].attributes for each in folded]
    assert [(bar["x"], bar["width"]) for bar in bars] == [
        *(("10.00%", "50.00%"), ("20.00%", "10.00%"), ("90.00%", "10.00%")),
    ]
    assert [each.all("span", "took")[0].text for each in folded] == [
        *("100 ms, 500 ms", "failed 200 ms, 100 ms", "unfinished 900 ms"),
    ]
    assert [block.text for block in folded[1].all("pre")] == ['{\n  "n": 2\n}', "no such"]
    assert [block.text for block in section.inside if isinstance(block, Element) and block.tag == "pre"] == [
        *("printed", "result"),
    ]
    assert root.all("p", "facts")[0].text == "1 call, 0 failed"


def test_calls_stand_one_below_the_other_and_the_contents_lead_to_each():
    second = (
        (5000, "tool/call", {"callId": "c2", "name": "read", "arguments": {}}),
        (5007, "tool/result", {"callId": "c2", "content": [], "isError": True, "error": {"code": "GONE"}}),
        (6000, "user/message", {"message": {"role": "user", "content": "go"}}),
        (6001, "tool/call", {"callId": "c3", "name": "grep", "arguments": {}}),
    )
    root = shown(*run([]), *second)
    links = [link.attributes["href"] for link in root.all("nav")[0].all("a")]
    sections = {f"#{section.attributes['id']}": section for section in root.all("section")}
    assert [sections[link].all("h2")[0].text for link in links] == [
        *("run_code ok 1.0 s c1", "read failed 7 ms c2", "grep unfinished c3"),
    ]
    assert "Error GONE" in sections[links[1]].text
    assert "Nothing; no end was logged." in sections[links[2]].text
    assert len({id_ for element in root.all() if (id_ := element.attributes.get("id"))}) == len(
        [element for element in root.all() if "id" in element.attributes]
    )


def hostile_events(text):
    calls = [nested(1, 1, 2, text, text, True, {text: [text]})]
    yield from run(calls, program=text, content=(text,))
    yield 2000, "tool/call", {"callId": text, "name": text, "arguments": {"x": text}}
    yield (
        *(2001, "tool/result"),
        {
            "callId": text,
            "content": [*texts(text), {"type": "image", "data": text, "mediaType": f"x/{text}"}],
            "isError": True,
            "error": {"name": text, "code": text},
            "meta": {text: text},
        },
    )
    yield 2002, "user/message", {"message": {"role": text}}
    yield 2003, "turn/end", {"turn": 1, "reason": text, "detail": text}


def skeleton(root):
    return [element.tag for element in root.all() if element.attributes.get("class") != "hidden"]


def test_hostile_text_is_text_wherever_it_stands():
    root = shown(*hostile_events(HOSTILE), title=HOSTILE)
    assert skeleton(root) == skeleton(shown(*hostile_events("x"), title="x"))
    assert not {"script", "iframe", "form"} & {element.tag for element in root.all()}
    visible = HOSTILE
    for char, escaped in (
        *(("\x1b", "\\x1b"), ("\u202e", "\\u202e"), ("\x00", "\\x00"), ("\r", "\\r"), ("\u2028", "\\u2028")),
    ):
        visible = visible.replace(char, escaped)
    assert root.all("h1")[0].text == visible
    assert root.all("ol", "program")[0].text == visible
    assert sum(visible in block.text for block in root.all("pre")) >= 3
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", root.text)


@example(text="image/png")
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(
        lambda t: "\n" not in t
    )
)
def test_no_text_changes_what_the_page_is_made_of(text):
    assert skeleton(shown(*hostile_events(text), title=text)) == skeleton(
        shown(*hostile_events("x"), title="x")
    )


def test_browsers_may_load_and_run_nothing():
    root = shown(*run([nested(1, 0, 1)]))
    policy = next(m for m in root.all("meta") if "http-equiv" in m.attributes).attributes["content"]
    (style,) = root.all("style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in style.text
    assert "@import" not in style.text
    assert not [
        each
        for each in root.all()
        if any(name.startswith("on") or name == "style" for name in each.attributes)
    ]


def test_pictures_that_browsers_know_are_shown_and_others_are_named():
    images = [
        ("image/png", "aGk="),
        ("image/svg+xml", "aGk="),
        ("image/png", '"><script>'),
        ("image/png", "A" * 2_000_000),
    ]
    content = [{"type": "image", "data": data, "mediaType": kind} for kind, data in images]
    root = shown(
        (0, "tool/call", {"callId": "c", "name": "see", "arguments": {}}),
        (1, "tool/result", {"callId": "c", "content": content, "isError": False}),
    )
    assert [image.attributes["src"] for image in root.all("img")] == ["data:image/png;base64,aGk="]
    assert [note.text for note in root.all("p", "note")] == [
        "[image image/svg+xml, 4 characters of base64]",
        "[image image/png, 10 characters of base64]",
        "[image image/png, 2,000,000 characters of base64]",
    ]


def test_of_ten_thousand_calls_the_first_are_shown_and_the_rest_counted():
    calls = [nested(n, n, n + 1, is_error=n == 9_999) for n in range(10_000)]
    log = [Event(seq, T + at, kind, data) for seq, (at, kind, data) in enumerate(run(calls, end=10_001))]
    html = "".join(page(replay(log), "big"))
    assert len(html) < 2_000_000
    root = parse(html)
    assert len(root.all("details", "call")) == MAX_CALLS
    (left_out,) = root.all("p", "left-out")
    assert left_out.text.startswith("9,000 more calls are left out, 1 of them failed; codemode log show")
    assert "Its calls (10,000, 1 failed)" in root.text


def test_large_texts_are_cut_and_say_so():
    program = "x = 1\n" * (MAX_LINES + 1)
    calls = [nested(1, 0, 1, says="é" * 1_000_000)]
    root = shown(*run(calls, program=program, content=["x"] * (MAX_BLOCKS + 1)))
    assert len(root.all("ol", "program")[0].all("li")) == MAX_LINES
    notes = [note.text for note in root.all("p", "left-out")]
    assert notes == [
        f"The first {MAX_LINES * 6 - 1:,} characters of {len(program):,}; `codemode log show` prints it whole.",
        "1 more block; `codemode log show` prints it whole.",
    ]
    long = next(block.text for block in root.all("pre") if "é" in block.text)
    assert len(long.encode()) <= MAX_TEXT
    assert "2,000,000 bytes in all, cut here; `codemode log show` prints it whole" in long


def test_a_page_that_is_full_begins_nothing_more_and_says_what_it_leaves_out():
    events = [event for n in range(50) for event in run([nested(1, 0, 1, call=f"c{n}")], call=f"c{n}")]
    ordered = [(seq, kind, data) for seq, (_, kind, data) in enumerate(events)]
    root = shown(*ordered, max_characters=20_000)
    count = len(root.all("section"))
    assert 0 < count < 50
    assert len(root.all("nav")[0].all("a")) == count
    (note,) = root.all("strong", "left-out")
    assert note.text.startswith(f"This page holds the first {count} entries of 50")
    assert root.all("p", "facts")[0].text.startswith("50 calls, 0 failed")


def test_calls_within_a_run_end_too_when_the_page_is_full():
    calls = [nested(n, n, n + 1, says="y" * 1000) for n in range(100)]
    root = shown(*run(calls), max_characters=20_000)
    count = len(root.all("details", "call"))
    assert 5 < count < 20
    assert f"{100 - count} more calls are left out, 0 of them failed" in root.text
    assert "result" in [block.text for block in root.all("pre")]


def test_an_empty_session_and_dropped_events_are_said():
    root = shown(first_seq=1234)
    assert root.all("p", "empty")[0].text == "No calls on this page."
    assert "The first 1,234 events were dropped" in root.text
    assert "the values that tools returned" in root.all("footer")[0].text


def test_the_bounds_are_those_that_are_documented():
    said = " ".join((Path(__file__).parents[2] / "docs" / "guides" / "log.md").read_text().split())
    assert (
        f"{MAX_CALLS:,} calls of one run, {MAX_TEXT:,} bytes of one text, {MAX_LINES:,} lines of a program, "
        f"{MAX_BLOCKS} blocks of one content, some {MAX_PAGE // 1_000_000} MB in all"
    ) in said
