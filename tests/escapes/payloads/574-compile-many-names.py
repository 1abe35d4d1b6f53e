# 574 compile-many-names
# tries: a program of many small parts: names, functions, decorators, nested f-strings
# escaped: compile time past the cap
# walls: language=must os=must host=must
# mode: code
# generate: "\n".join(f"def f{i}(a{i}, *, b{i}=[x for x in range({i})]): return f'{{a{i}!r:>{{b{i}}}}}'" for i in range(9000))
