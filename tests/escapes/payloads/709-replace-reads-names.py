# 709 replace-reads-names
# tries: dataclasses.replace reads the names of fields that an instance's own dict holds
# escaped: any attribute of an own object by a name in a string
# walls: language=must os=backstop host=-
# mode: code
import dataclasses
class Field:
    pass
@dataclasses.dataclass(init=False)
class D:
    a: int = 1
    def __init__(self, **found):
        if found:
            print('ESCAPED', found)
field = Field()
field._field_type, field.init, field.name = None, True, '__reduce' + '_ex__'
d = D()
vars(d)['__dataclass' + '_fields__'] = {'x': field}
dataclasses.replace(d)
