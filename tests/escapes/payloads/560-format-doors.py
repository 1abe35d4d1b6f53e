# 560 format-doors
# tries: format strings through bound, unbound, mapped, partial, inherited and stored methods
# escaped: an attribute walk
# walls: language=must os=backstop host=-
# mode: code
import functools
import string
class S(str):
    pass
class F:
    fmt = str.format
    def __format__(self, spec):
        return spec.format(self)
t = '{0.__class__.__mro__}'
def g():
    yield 1
ways = [lambda: str.format(t, 1), lambda: S(t).format(1), lambda: S.format(S(t), 1), lambda: functools.partial(str.format, t)(1),
        lambda: list(map(str.format, [t], [1])), lambda: F.fmt(t, 1), lambda: getattr(t, 'format')(1), lambda: t.format_map({'0': 1}),
        lambda: format(F(), t), lambda: f'{F():{t}}', lambda: '{:{0.gi_frame}}'.format(g()), lambda: '{0[gi_frame]}'.format(g()),
        lambda: super(S, S(t)).format(1), lambda: S.__getattribute__(S(t), 'format')(1), lambda: max([t], key=lambda x: 1).format(1),
        lambda: '{a.gi_frame}'.format(**{'a': g()}), lambda: ''.join([t]).format(1), lambda: '%(x)s' % {'x': t.format(1)},
        lambda: string.Template('${x.__class__}').substitute({'x.__class__': 1})]
for number, way in enumerate(ways):
    try:
        got = way()
    except Exception:
        continue
    if 'object' in str(got) or 'frame' in str(got):
        print('ESCAPED', number, got)
