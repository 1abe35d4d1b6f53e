# 711 frozen-by-super
# tries: super() over a class gives the builtin's own method, unguarded
# escaped: a value that a tool gave is changed
# walls: language=must os=- host=-
# mode: code
value = echo(x=[3, 1, 2])
class L(list):
    @classmethod
    def add(cls, target):
        super().append(target, 9)
try:
    L.add(value)
    super(L, L).append(value, 9)
except Exception:
    pass
if value != [3, 1, 2]:
    print('ESCAPED', value)
