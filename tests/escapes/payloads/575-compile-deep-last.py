# 575 compile-deep-last
# tries: a last expression nested just below what the parser refuses
# escaped: the engine's own recursion fails where Python's does not
# walls: language=- os=- host=must
# mode: code
# generate: "x = 1\n" + "+".join(["x"] * 4000)
