# 500 facade-call-new
# tries: a facade is a class underneath: make an instance of it, or a subclass, to hold its parts unguarded
# escaped: an instance or subclass of a module's facade
# walls: language=must os=backstop host=-
# mode: code
import json
got = []
for make in (lambda: json(), lambda: json.__call__(), lambda: json.__new__(json), lambda: type(json)()):
    try:
        got.append(make())
    except Exception:
        pass
if got:
    print('ESCAPED', got)
