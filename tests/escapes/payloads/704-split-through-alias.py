# 704 split-through-alias
# tries: an attribute stored on Annotated[x] is stored on x: a group gets a split of ours, by a name in a string
# escaped: a type confusion in except*
# walls: language=must os=must host=-
# mode: code
from typing import Annotated
group = ExceptionGroup('x', [ValueError(1)])
setattr(Annotated[group, 0], 'split', lambda kind: 'AAAA')
try:
    raise group
except* ValueError as e:
    print('ESCAPED', e)
