# 707 pretended-base
# tries: a slot called __class__ makes an object pass for a generic alias; its __mro_entries__ names any base
# escaped: a class derived from ExceptionGroup, and with it a type confusion
# walls: language=must os=backstop host=-
# mode: code
import types
class Own:
    pass
class Fake:
    __slots__ = ['__cl' + 'ass__']
    def __getattr__(self, name):
        if name == '__cl' + 'ass__':
            return types.GenericAlias
        if name == '__ori' + 'gin__':
            return Own
        if name == '__mro_ent' + 'ries__':
            return lambda bases: (ExceptionGroup,)
        raise AttributeError(name)
class E(Fake()):
    pass
if issubclass(E, ExceptionGroup):
    print('ESCAPED', E)
