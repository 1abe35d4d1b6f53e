# 523 dataclass-repr-of-others
# tries: generated methods taken from a data class and given foreign objects
# escaped: a generated method reads a guarded name of one
# walls: language=must os=backstop host=-
# mode: code
import dataclasses
@dataclasses.dataclass(order=True)
class D:
    obj: int = 0
    _private: int = 0
def g():
    yield 1
try:
    [].nothing
except AttributeError as e:
    error = e
for name in ('__repr__', '__eq__', '__lt__', '__hash__'):
    for target in (error, g(), tools):
        try:
            got = getattr(D, name)(target) if name in ('__repr__', '__hash__') else getattr(D, name)(target, target)
            if got is not NotImplemented:
                print('ESCAPED', name, got)
        except Exception:
            pass
