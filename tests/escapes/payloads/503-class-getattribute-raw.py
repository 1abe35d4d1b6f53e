# 503 class-getattribute-raw
# tries: `object.__getattribute__` and `__setattr__` called unbound, on instance, class and super
# escaped: a guarded name read or written past the guard
# walls: language=must os=backstop host=-
# mode: code
class A:
    def probe(self):
        return super()
a = A()
def g():
    yield 1
for read in (object.__getattribute__, A.__getattribute__, a.__getattribute__, a.probe().__getattribute__):
    for target, name in ((g(), 'gi_frame'), (A, '__subclasses__'), (a, '__class__'), (print, '__globals__')):
        for arguments in ((target, name), (name,)):
            try:
                value = read(*arguments)
            except Exception:
                continue
            if name != '__class__' or value is not A:
                print('ESCAPED', name, value)
