from __future__ import annotations

import os

import pytest

from codemode import CodeMode, ToolDefinitionError
from codemode.toolkits import files
from codemode.toolkits.skills import skills
from tests.toolkits.calling import both, failure, program_failure, shown
from tests.toolkits.support import fill

PDF = """\
---
name: pdf-forms
description: >
  Fill forms
  in PDF files.
license: MIT
allowed-tools: [read, bash]
metadata:
  version: 1
---

# Forms

Run `scripts/fill.py`.
"""


def skill(name, body="Do it.", more=""):
    return f"---\nname: {name}\ndescription: about {name}\n{more}---\n{body}\n"


async def test_the_value_has_the_instructions_and_where_their_files_are(root):
    fill(root, {"pdf-forms/SKILL.md": PDF, "pdf-forms/scripts/fill.py": "print(1)\n"})
    async with CodeMode([*skills([root]), *files(root)]) as cm:
        assert await both(cm, "skill", name="pdf-forms") == {
            "name": "pdf-forms",
            "provider": str(root),
            "resourceBase": {"kind": "directory", "path": f"{root}/pdf-forms"},
            "content": "# Forms\n\nRun `scripts/fill.py`.",
        }
        assert await shown(cm, "skill", name="pdf-forms") == (
            f'<skill_content name="pdf-forms">\n<skill_resources>\nBase directory: {root}/pdf-forms\n'
            "</skill_resources>\n<skill_instructions>\n# Forms\n\nRun `scripts/fill.py`.\n</skill_instructions>\n"
            "</skill_content>"
        )
        assert (await cm.call("skill", {"name": "pdf-forms"})).meta == {
            "name": "pdf-forms",
            "provider": str(root),
        }
        result = await cm.run(
            'base = tools.skill("pdf-forms")["resourceBase"]["path"]\n'
            'return tools.read(base + "/scripts/fill.py")["lines"][0]["text"]'
        )
        assert result.result == "print(1)"


async def test_the_description_lists_what_a_model_can_load(root, tmp_path):
    other = tmp_path / "user"
    fill(
        root,
        {
            "b/SKILL.md": skill("b"),
            "hidden/SKILL.md": skill("hidden", more="disable-model-invocation: true\n"),
            "broken/SKILL.md": "no front matter",
            "README.md": "x",
            "empty/other.md": "x",
        },
    )
    fill(other, {"a/SKILL.md": skill("a", "of the user"), "b/SKILL.md": skill("b", "of the user")})
    (tool,) = skills([root, other])
    assert tool.description.splitlines()[2:] == [
        "Files that they name are relative to `resourceBase`. Skills:",
        "- a: about a",
        "- b: about b",
    ]
    async with CodeMode([tool]) as cm:
        assert (await both(cm, "skill", name="b"))["provider"] == str(root)
        assert (await both(cm, "skill", name="a"))["content"] == "of the user"
        error = await failure(cm, "skill", name="c")
        assert (error.code, error.message) == ("SKILL_UNKNOWN", "there is no skill 'c'; there are: a, b")
        assert (await failure(cm, "skill", name="hidden")).code == "SKILL_NOT_AVAILABLE"
        fill(root, {"c/SKILL.md": skill("c", "new")})  # looked up anew
        assert (await both(cm, "skill", name="c"))["content"] == "new"
    assert skills([root / "empty"])[0].description.endswith("\n(none)")


@pytest.mark.parametrize(
    "name",
    ["../outside", "..", ".", "a/b", "/etc/passwd", "a\\b", "a.b", "-a", "a\n", "", "x" * 65, "é", "a b"],
)
async def test_a_name_is_no_path(root, name):
    fill(root, {"a/SKILL.md": skill("a")})
    async with CodeMode(skills([root])) as cm:
        error = await failure(cm, "skill", name=name)
        assert error.code in ("SKILL_INVALID_NAME", "INVALID_ARGUMENTS")
        assert (await program_failure(cm, "skill", name=name))[0] == error.code


async def test_no_link_leads_out(root):
    outside = root.parent / "outside"
    fill(outside, {"SKILL.md": skill("linked"), "s/SKILL.md": skill("s")})
    (root / "linked").symlink_to(outside)
    (root / "s").mkdir()
    (root / "s" / "SKILL.md").symlink_to(outside / "s" / "SKILL.md")
    fill(root, {"real/SKILL.md": skill("inner")})
    (root / "inner").symlink_to("real")
    (tool,) = skills([root])
    async with CodeMode([tool]) as cm:
        for name in ("linked", "s"):
            assert (await failure(cm, "skill", name=name)).code == "FS_OUTSIDE_WORKSPACE"
        assert (await both(cm, "skill", name="inner"))["resourceBase"]["path"] == f"{root}/real"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "SKILL_INVALID"),
        ("# just text", "SKILL_INVALID"),
        ("---\nname: x\ndescription: y\n", "SKILL_INVALID"),
        ("---\nname: other\ndescription: y\n---\n", "SKILL_INVALID"),
        ("---\nname: x\n---\n", "SKILL_INVALID"),
        ("---\nname: [x\n---\n", "SKILL_INVALID"),
        ("---\n- x\n---\n", "SKILL_INVALID"),
        ("---\nname: x\ndescription: !!python/object/apply:os.system [id]\n---\n", "SKILL_INVALID"),
        ("---\nname: x\ndescription: " + "[" * 5000 + "\n---\n", "SKILL_INVALID"),
        ("---\nname: x\ndescription: 2001-99-99\n---\n", "SKILL_INVALID"),
        ("---\nname: x\ndescription: y\nmore: " + "z" * 20_000 + "\n---\n", "SKILL_INVALID"),
        (skill("x", "y" * 300_000), "SKILL_TOO_LARGE"),
        (b"---\nname: x\0", "FS_NOT_TEXT"),
        (b"---\nname: x\ndescription: \xff\n---\n", "FS_NOT_TEXT"),
    ],
)
async def test_a_file_that_is_no_skill_says_why(root, content, code):
    fill(root, {"x/SKILL.md": content})
    async with CodeMode(skills([root]), sandbox=object()) as cm:
        error = await failure(cm, "skill", name="x")
        assert error.code == code


async def test_aliases_that_would_expand_for_ever_do_no_harm(root):
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    fill(root, {"x/SKILL.md": skill("x", "fine", bomb)})
    async with CodeMode(skills([root]), sandbox=object()) as cm:
        outcome = await cm.call("skill", {"name": "x"})
        assert outcome.value["content"] == "fine"


async def test_a_file_may_have_a_byte_order_mark_and_crlf(root):
    fill(root, {"x/SKILL.md": "\ufeff" + skill("x", "one\ntwo").replace("\n", "\r\n")})
    async with CodeMode(skills([root])) as cm:
        assert (await both(cm, "skill", name="x"))["content"] == "one\ntwo"


async def test_what_is_no_file_is_no_skill(root):
    (root / "x").mkdir()
    os.mkfifo(root / "x" / "SKILL.md")
    (root / "y" / "SKILL.md").mkdir(parents=True)
    (tool,) = skills([root])
    async with CodeMode([tool], sandbox=object()) as cm:
        for name in "xy":
            assert (await failure(cm, "skill", name=name)).code == "FS_NOT_REGULAR_FILE"


def test_a_directory_has_to_be_there(root):
    with pytest.raises(ToolDefinitionError, match="not a directory"):
        skills([root / "none"])
