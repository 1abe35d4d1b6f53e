# 550 exception-group-split
# tries: except* over built-in groups with split, derive and subgroup put in place by every door
# escaped: the interpreter takes junk for a tuple
# walls: language=must os=must host=-
# mode: code
eg = ExceptionGroup('x', [ValueError(1), TypeError(2)])
for name in ('split', 'derive', 'subgroup'):
    try:
        setattr(eg, name, lambda *a: 'AAAA')
    except Exception:
        pass
    try:
        vars(eg)[name] = lambda *a: 'AAAA'
    except Exception:
        pass
eg.__notes__ = [1, None]
try:
    raise eg
except* ValueError as e:
    print(len(e.exceptions))
except* TypeError as e:
    print(len(e.exceptions))
