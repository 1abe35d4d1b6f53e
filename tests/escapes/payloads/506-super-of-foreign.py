# 506 super-of-foreign
# tries: super() objects made by hand over foreign objects and classes
# escaped: private or guarded names of a foreign object
# walls: language=must os=backstop host=-
# mode: code
import asyncio
import threading
class T(threading.Thread):
    pass
class L:
    pass
for make in (lambda: super(T, threading.Thread()), lambda: super(L, asyncio.Lock()), lambda: super(object, print),
             lambda: super(type(print), print), lambda: super(dict, {})):
    for read in (lambda s: s._target, lambda s: getattr(s.__init__, '__func__'), lambda s: getattr(s, '_waiters'),
                 lambda s: getattr(s.__class__, 'mro'), lambda s: getattr(s, '__self__')):
        try:
            s = make()
            print('ESCAPED', read(s))
        except Exception:
            pass
