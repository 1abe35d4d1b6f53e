# 529 copy-protocol-answers
# tries: copying asks an object how; __getattr__ answers for every name it is asked
# escaped: an attribute stored past the guards
# walls: language=must os=backstop host=-
# mode: code
import copy
class A:
    def __getattr__(self, name):
        if name == '__deepcopy__' or name == '__copy__':
            raise AttributeError(name)
        return lambda *a: (print, ('ESCAPED by', name))
class B:
    def __getattr__(self, name):
        return {'__class__': int, '__globals__': {}}
for make in (A, B):
    for way in (copy.copy, copy.deepcopy):
        try:
            way(make())
        except Exception:
            pass
b = B()
vars(b)['__reduce_ex__'] = lambda p: (print, ('ESCAPED',))
vars(b)['__setstate__'] = print
for way in (copy.copy, copy.deepcopy):
    try:
        way(b)
    except Exception:
        pass
