# 649 wire-end-that-is-huge
# tries: an end with an error text of many megabytes, and one that only the host may say
# escaped: the text is passed on whole
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


send(wire.pack(wire.Failed('exception', 'ESCAPED? ' * 900_000)))
while True:
    pass
