# 507 type-dict-descriptor
# tries: descriptors found in vars() of own classes, called by hand on foreign objects
# escaped: a descriptor reads what the guard would not
# walls: language=must os=backstop host=-
# mode: code
class A:
    __slots__ = ('x', '__dict__')
    @property
    def p(self):
        return 1
    @classmethod
    def c(cls):
        return cls
found = vars(A)
for name in list(found):
    item = found[name]
    for call in (lambda: item.__get__(print), lambda: item.__get__(None, print), lambda: item.__set__(print, 1),
                 lambda: getattr(item, 'fget'), lambda: getattr(item, '__func__'), lambda: getattr(item, '__objclass__')):
        try:
            print('ESCAPED', name, call())
        except Exception:
            pass
