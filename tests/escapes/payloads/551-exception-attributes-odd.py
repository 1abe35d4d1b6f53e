# 551 exception-attributes-odd
# tries: an exception whose cause, context, notes, args and traceback are set to each other and to junk
# escaped: the report walks for ever, or fails in the engine
# walls: language=- os=- host=must
# mode: code
class E(Exception):
    def __str__(self):
        self.__cause__ = E()
        self.__notes__ = [self] * 1000
        return chr(0) * 100000 + '\x1b[2J'
a, b = E(), E()
a.__cause__, b.__cause__ = b, a
a.__context__ = ExceptionGroup('g', [a, b] * 100)
a.__notes__ = ['n' * 100000] * 1000
a.args = (a, b) * 1000
a.name = a
a.__traceback__ = None
raise a
