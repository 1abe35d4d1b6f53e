# 720 receiver-that-is-a-class
# tries: methods of the library that make a new object of their receiver's class, called on a class
# escaped: the receiver's class is the real `type`, which makes classes that nobody has looked at
# walls: language=must os=backstop host=-
# mode: code
import collections


class Bases:
    maps = ({}, (), {})
    data = {}


found = []
for method in (
    collections.Counter.copy,
    collections.ChainMap.copy,
    collections.UserList.copy,
    collections.UserDict.copy,
    collections.ChainMap.new_child,
):
    try:
        found.append(method(Bases))
    except Exception:
        continue
for each in found:
    made = each('Made', (), {'__getattribute__': lambda self, name: 'ESCAPED'})
    print(made().anything)
result = len(found)
