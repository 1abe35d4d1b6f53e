# 642 wire-millions-of-numbers
# tries: a result of fifteen million numbers, a byte each
# escaped: the host takes them in, and its loop stands still
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


body = b'\x82\xa4type\x04\xa5value\xdd' + (15_000_000).to_bytes(4, 'big') + bytes(15_000_000)
send(len(body).to_bytes(4, 'little') + body)
os.read(3, 1)
