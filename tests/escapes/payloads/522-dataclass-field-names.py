# 522 dataclass-field-names
# tries: field names become source text inside dataclasses
# escaped: text of ours compiled by the library
# walls: language=must os=backstop host=-
# mode: code
import dataclasses
bad = ['x): pass\n print("ESCAPED")#', 'a=print("ESCAPED")', '__globals__', 'gi_frame', 'x\nimport os', 'x;y', 'self', '']
def way(name):
    class A:
        pass
    A.__annotations__ = {name: int}
    return dataclasses.dataclass(A)
for name in bad:
    for make in (lambda: dataclasses.make_dataclass('D', [name]), lambda: dataclasses.make_dataclass('D', [(name, int, 0)]),
                 lambda: way(name), lambda: dataclasses.make_dataclass(name or 'E', ['x'])):
        try:
            made = make()
            made(1)
        except Exception:
            pass
