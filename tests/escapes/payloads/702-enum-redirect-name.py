# 702 enum-redirect-name
# tries: the descriptor that an enum puts before an inherited method reads an attribute by a name that can be set (from 3.12 on)
# escaped: frames
# walls: language=must os=backstop host=-
# mode: code
# python: >=3.12
import enum
class Mixin:
    def upper(self):
        return 1
class M(Mixin, enum.Enum):
    upper = 1
    lower = 2
def g():
    yield 1
redirect = vars(M)['upper']
redirect.name = 'gi_frame'
M.lower._value_ = g()
print('ESCAPED', M.lower.upper)
