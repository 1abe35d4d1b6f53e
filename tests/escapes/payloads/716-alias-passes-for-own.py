# 716 alias-passes-for-own
# tries: a generic alias hands the engine's mark on from its class, so that its own private name may be set; copying looks that name up in typing's globals
# escaped: any real builtin, and with it os and every file
# walls: language=must os=backstop host=-
# mode: code
import copy
from typing import Generic, TypeVar
T = TypeVar('T')
class Own(Generic[T]):
    pass
def real(name):
    alias = Own[int].copy_with((name,))
    alias._name = '__builtins__'
    return copy.copy(alias)
os = real('__import__')('os')
print('ESCAPED', os.getpid(), real('open'))
