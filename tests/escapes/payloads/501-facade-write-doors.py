# 501 facade-write-doors
# tries: a facade is written to through every door that stores an attribute
# escaped: json.dumps is ours for the engine too
# walls: language=must os=backstop host=-
# mode: code
import json
import operator
import typing
mine = lambda *a, **k: 'ESCAPED'
def by_with():
    import contextlib
    with contextlib.nullcontext(mine) as json.dumps:
        pass
def by_for():
    for json.dumps in [mine]:
        pass
def by_alias():
    setattr(typing.Annotated[json, 0], 'dumps', mine)
def by_unpack():
    json.dumps, rest = mine, 1
def by_delete():
    del json.dumps
for way in (by_with, by_for, by_alias, by_unpack, by_delete, lambda: setattr(json, 'dumps', mine)):
    try:
        way()
    except Exception:
        pass
print(json.dumps({}))
