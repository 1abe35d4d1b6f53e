"""Blocks are found wherever they stand, and one that says nothing known is seen to say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documentation.pages import blocks, pages

PAGE = """\
<!-- run: a.py -->
```python
print(1)
```

<!-- prints -->
```text
1
```

1. In a list:

   <!-- shell: exit 1 -->
   ~~~sh
   false
   ~~~

   - and deeper

     ```python
     silent()
     ```

> ```
> in a quotation
> ```

Text between the comment and the block:

<!-- run: b.py -->

so it says nothing.

```python
unmarked()
```

    indented()

<!-- rum: c.py -->
```python
misspelt()
```

```{toctree}
of no matter
```
"""


def test_every_block_is_found_with_what_its_comment_says(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    found = [(each.kind, each.about, each.content) for each in blocks(str(page))]
    assert found == [
        ("run", "a.py", "print(1)\n"),
        ("prints", "", "1\n"),
        ("shell", "exit 1", "false\n"),
        ("", "", "silent()\n"),
        ("", "", "in a quotation\n"),
        ("", "", "unmarked()\n"),
        ("", "", "indented()\n"),
        ("", "", "misspelt()\n"),
    ]


@pytest.mark.parametrize("name", ["README.md", "SECURITY.md", "docs/tutorial.md", "docs/guides/tools.md"])
def test_the_pages_are_those_that_a_reader_is_given(name: str):
    assert name in pages()
