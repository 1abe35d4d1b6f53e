# 647 wire-empty-frames
# tries: frames of no bytes, for ever
# escaped: the host reads them for ever
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


while True:
    send(bytes(4) * 10_000)
