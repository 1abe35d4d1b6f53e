# 502 stand-in-metaclass
# tries: stand-ins for classes of classes: reach `type` through type(type(x)), instantiate, derive
# escaped: a class made without a class statement
# walls: language=must os=backstop host=-
# mode: code
def g():
    yield 1
made = []
seen = type(g())
for level in range(4):
    for arguments in ((), ('X', (), {}), (g,)):
        try:
            made.append(seen(*arguments)) if level or len(arguments) != 1 else None
        except Exception:
            pass
    seen = type(seen)
    if seen is type:
        break
try:
    class X(type(g())):
        pass
    made.append(X)
except TypeError:
    pass
if made:
    print('ESCAPED', made)
