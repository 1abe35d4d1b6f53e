# 521 partialmethod-descriptor
# tries: partialmethod and singledispatchmethod call __get__ of what they are given
# escaped: a foreign descriptor bound to a foreign object
# walls: language=must os=backstop host=-
# mode: code
import functools
class A:
    pm = functools.partialmethod(print)
    cp = functools.cached_property(lambda self: self)
a = A()
cp = vars(A)['cp']
pm = vars(A)['pm']
try:
    cp.attrname = '__class__'
    print(type(a.cp))
except Exception as e:
    print(type(e).__name__)
try:
    pm.func = property(lambda self: 'ESCAPED')
    pm.args = ()
    print(getattr(a.pm, '__self__'))
except Exception as e:
    print(type(e).__name__)
