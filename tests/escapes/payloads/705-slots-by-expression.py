# 705 slots-by-expression
# tries: names in __slots__ that are put together escape the check of what is written out
# escaped: a slot called __reduce_ex__ with which copying stores any attribute on any object
# walls: language=must os=backstop host=-
# mode: code
import copy
class Own:
    pass
class R:
    __slots__ = ['__red' + 'uce_ex__']
    def __getattr__(self, name):
        if 'reduce_ex' in name:
            return lambda protocol: (lambda: Own, (), (None, {'__match_args__': ('gi_frame',)}))
        raise AttributeError(name)
copy.deepcopy(R())
if Own.__match_args__ == ('gi_frame',):
    print('ESCAPED', Own.__match_args__)
