# 505 mark-by-identifier
# tries: the engine's mark of own classes cannot be spelt; look-alikes, keywords and mangling try
# escaped: private attributes of a foreign object
# walls: language=must os=backstop host=-
# mode: code
import asyncio
import types
lock = asyncio.Lock()
space = types.SimpleNamespace(**{'<private attributes>': True})
class A:
    def f(self, other):
        return other._waiters
    def g(self):
        self = lock
        return self._waiters
    def h(self):
        return [self._waiters for self in [lock]]
    def i(self):
        def inner():
            nonlocal self
            self = lock
        inner()
        return self._waiters
    def j(self):
        match lock:
            case self:
                return self._waiters
    def k(self):
        return (lambda self=lock: self._waiters)()
a = A()
for way in (lambda: a.f(lock), a.g, a.h, a.i, a.j, a.k, lambda: A.f(lock, lock), lambda: A.g(space)):
    try:
        print('ESCAPED', way())
    except AttributeError:
        pass
