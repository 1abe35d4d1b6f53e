# 508 immutable-by-subclass
# tries: make the library's classes mutable by deriving, slots, and storing through the derived one
# escaped: a class of the library changed for the engine
# walls: language=must os=backstop host=-
# mode: code
import decimal
import json
class E(json.JSONEncoder):
    pass
class D(decimal.Decimal):
    pass
for target in (json.JSONEncoder, decimal.Decimal, dict, Exception, ToolCallError, type(tools), type(print)):
    for name in ('encode', 'default', 'x', '__init__', '__str__'):
        for write in (setattr, delattr):
            try:
                write(target, name, lambda *a: 'ESCAPED') if write is setattr else write(target, name)
                print('ESCAPED', target, name)
            except Exception:
                pass
