# 721 type-that-is-compared
# tries: names of builtin types bound in every way, to an object that keeps what `type(x)` is compared with
# escaped: the object has been given the real `type`, which makes classes that nobody has looked at
# walls: language=must os=backstop host=-
# mode: code
import contextlib

seen = []


class Keeper:
    def __eq__(self, other):
        seen.append(other)
        return False

    def __hash__(self):
        return 1

    def __contains__(self, other):
        seen.append(other)
        return False


class Target:
    pass


keeper = Keeper()
x = Target


def by_global():
    global int
    int = keeper


def by_parameters(bool, /, bytes, *float, complex, **frozenset):
    return [type(x) == bool, type(x) == bytes, type(x) in (bool, bytes), type(x) in float, type(x) == complex]


def by_statements():
    for set in [keeper]:
        type(x) == set
    with contextlib.nullcontext(keeper) as bytearray:
        type(x) == bytearray
    match [keeper, 1, 2]:
        case [str, *tuple]:
            type(x) == str
    match {'a': 1}:
        case {**dict}:
            type(x) in dict
    (list := keeper)
    type(x) == list
    return [type(x) == list for list in [keeper]] + [(lambda str: type(x) == str)(keeper)]


class Body:
    float = keeper
    found = type(x) == float

    def method(self):
        return type(x) == float


by_global()
results = [type(x) == int, type(x) != int, type(x) in (int, keeper), keeper == type(x), type(x) in [keeper]]
by_parameters(keeper, keeper, keeper, complex=keeper, more=keeper)
by_statements()
Body().method()
results.append(type(x).__name__ == keeper)
for name in seen:
    for made in (name, type(name)):
        try:
            each = made('Made', (), {'__getattribute__': lambda self, name: 'ESCAPED'})
            print(each().anything)
        except Exception:
            continue
result = len(seen)
