# 590 surrogates-everywhere
# tries: lone surrogates in names, keys, prints, errors and arguments
# escaped: the engine fails to encode one
# walls: language=- os=- host=must
# mode: code
s = '\ud800'
print(s)
try:
    echo(x={s: s})
except Exception as e:
    print(ascii(str(e)))
class E(Exception):
    pass
E.__name__ = s
E.__module__ = s
raise E(s, {s: s})
