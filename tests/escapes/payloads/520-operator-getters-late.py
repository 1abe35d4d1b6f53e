# 520 operator-getters-late
# tries: attrgetter and methodcaller with names that are made to change after the check
# escaped: an attribute walk
# walls: language=must os=backstop host=-
# mode: code
import operator
class S(str):
    def split(self, *a):
        return ['real']
def g():
    yield 1
for make in (lambda: operator.attrgetter(S('gi_frame')), lambda: operator.attrgetter('real.gi_frame'), lambda: operator.attrgetter('real', 'gi_frame'),
             lambda: operator.methodcaller('__reduce__'), lambda: operator.methodcaller(S('close')),
             lambda: operator.methodcaller('format', 'x', 1), lambda: operator.attrgetter('.gi_frame')):
    try:
        got = make()(g())
        print('ESCAPED', got)
    except Exception:
        pass
