# 531 redirect-engine-text
# tries: redirect standard output to an object of ours while the engine writes
# escaped: an engine object handed to our write()
# walls: language=must os=backstop host=-
# mode: code
import contextlib
import logging
import traceback
import warnings
class W:
    def write(self, text):
        if type(text) is not str:
            result.append('ESCAPED')
        return len(text)
result = []
with contextlib.redirect_stdout(W()), contextlib.redirect_stderr(W()):
    print('x')
    warnings.warn('x')
    logging.warning('x')
    try:
        1 / 0
    except ZeroDivisionError:
        traceback.print_exc()
