# 553 exception-group-deep
# tries: exception groups nested thousands deep and a thousand wide
# escaped: recursion in the report, a text without bound
# walls: language=- os=- host=must
# mode: code
e = ValueError('x' * 1000)
for i in range(5000):
    e = ExceptionGroup('g' * 100, [e] + [KeyError(i)] * 3)
raise e
