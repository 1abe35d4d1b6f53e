# 633 files
# tries: files by every function that opens or lists
# escaped: a file's content, name or size
# walls: language=- os=must host=-
# mode: raw
import io
import os
import shutil
import tempfile
for way in (lambda: open('/etc/passwd').read(), lambda: os.listdir('/'), lambda: os.stat('/etc/passwd').st_size, lambda: os.getcwd(),
            lambda: io.open('/proc/self/maps').read(), lambda: os.readlink('/proc/self/exe'), lambda: list(os.scandir('/')),
            lambda: os.open('/', os.O_RDONLY), lambda: os.access('/', 0) or 1 / 0, lambda: os.uname(), lambda: os.environ['HOME']):
    try:
        print('ESCAPED', way())
    except (OSError, ZeroDivisionError, KeyError):
        pass
