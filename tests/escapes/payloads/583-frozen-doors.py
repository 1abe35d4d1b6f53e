# 583 frozen-doors
# tries: a tool's value changed by functions of the library and by unbound methods
# escaped: a value that a tool gave is changed
# walls: language=must os=- host=-
# mode: code
import bisect, collections, copy, functools, heapq, operator, random, types, typing
v = echo(x={'l': [3, 1, 2], 'd': {'k': 1}})
l, d = v['l'], v['d']
class L(list):
    add = list.append
class D(dict):
    put = dict.setdefault
ways = [lambda: operator.iconcat(l, [9]), lambda: operator.imul(l, 2), lambda: operator.ior(d, {'z': 1}), lambda: heapq.heappush(l, 0),
        lambda: random.shuffle(l), lambda: bisect.insort(l, 2), lambda: collections.abc.MutableMapping.update(d, {'q': 1}),
        lambda: collections.Counter.update(d, 'ab'), lambda: dict.__init__(d, z=1), lambda: list.__init__(l, [1]),
        lambda: list.__setitem__(l, 0, 9), lambda: dict.__ior__(d, {'a': 1}), lambda: L.add(l, 9), lambda: L.append(l, 9),
        lambda: D.put(d, 'n', 1), lambda: vars(L)['add'](l, 9), lambda: typing.List[int].append(l, 9), lambda: list[int].append(l, 9),
        lambda: types.MethodType(list.append, l)(9), lambda: getattr(list, 'append')(l, 9), lambda: list(map(list.append, [l], [9])),
        lambda: functools.partial(list.insert, l)(0, 9), lambda: collections.ChainMap(d).update({'r': 1}), lambda: d.__init__(z=1),
        lambda: staticmethod(list.append)(l, 9), lambda: operator.methodcaller('append', l, 9)(list), lambda: setattr(l, 'x', 1)]
for number, way in enumerate(ways):
    try:
        way()
    except Exception:
        pass
    if l != [3, 1, 2] or d != {'k': 1}:
        print('ESCAPED', number)
        break
