# 710 field-name-of-other-letters
# tries: a field's name is checked as it is written and compiled as Python reads it
# escaped: the text of frames, of other objects' guarded attributes
# walls: language=must os=backstop host=-
# mode: code
import dataclasses
class F:
    pass
F.__annotations__ = {'\uff47i_frame': int}
F = dataclasses.dataclass(F, init=False, eq=False, match_args=False)
def g():
    yield 1
print('ESCAPED', F.__repr__(g()))
