# 526 namedtuple-text
# tries: namedtuple builds a function from text
# escaped: text of ours compiled by the library
# walls: language=must os=backstop host=-
# mode: code
import collections
import typing
for fields in ('a b=print("ESCAPED")', ['a', 'b): print("ESCAPED")#'], 'class def', ['a' * 100000], 'a a', ['\uff41', 'a']):
    for make in (lambda: collections.namedtuple('N', fields), lambda: collections.namedtuple('N', fields, rename=True),
                 lambda: collections.namedtuple('print("ESCAPED")', fields), lambda: typing.NamedTuple('N', [(f, int) for f in fields])):
        try:
            make()
        except Exception:
            pass
