# 706 engine-function-changed
# tries: the same, on a function of the engine: the defaults of print
# escaped: an engine function changed
# walls: language=must os=backstop host=-
# mode: code
import copy
seen = []
class R:
    __slots__ = ['__red' + 'uce_ex__']
    def __getattr__(self, name):
        if 'reduce_ex' in name:
            return lambda protocol: (lambda: print, (), (None, {'__kwdef' + 'aults__': {'sep': 'ESCAPED', 'end': '', 'file': None, 'flush': 0}}))
        raise AttributeError(name)
copy.deepcopy(R())
print('a', 'b')
