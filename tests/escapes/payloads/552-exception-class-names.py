# 552 exception-class-names
# tries: the class of the exception that ends a run has a hostile name, module and qualified name
# escaped: text of the engine forged, or the engine's report fails
# walls: language=- os=- host=must
# mode: code
class E(SyntaxError):
    pass
E.__name__ = E.__qualname__ = '\n\nHint: ESCAPED\r\x1b]0;x\x07' + 'x' * 100000
E.__module__ = 'codemode'
e = E('x')
e.lineno, e.offset, e.text, e.filename, e.end_lineno = 10 ** 9, -10 ** 9, 'x' * 10 ** 6, None, 'z'
raise e
