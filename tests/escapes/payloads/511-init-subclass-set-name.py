# 511 init-subclass-set-name
# tries: hooks of class making get engine objects: owner, namespace, keywords
# escaped: a hook is handed what it should not have
# walls: language=must os=backstop host=-
# mode: code
seen = []
class Probe:
    def __set_name__(self, owner, name):
        seen.append(owner)
    def __get__(self, instance, owner):
        seen.append(instance)
        return self
class A:
    p = Probe()
    def __init_subclass__(cls, **kw):
        seen.append(cls)
        seen.append(kw)
class B(A, x=1):
    q = Probe()
B().q
for item in seen:
    try:
        print('ESCAPED', item.__dict__['__weakref__'])
    except Exception:
        pass
    for name in ('__builtins__', 'f_back', '__globals__', 'mro'):
        if hasattr(item, name):
            print('ESCAPED', name)
