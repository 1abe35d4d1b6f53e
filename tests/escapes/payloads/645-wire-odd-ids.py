# 645 wire-odd-ids
# tries: calls whose ids are fractions, booleans, texts and beyond 64 bits
# escaped: one of them is taken for call 1
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


for number in (b'\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00', b'\xc3', b'\xa11', b'\xcf' + b'\xff' * 8):
    body = b'\x84\xa4type\x01\xa2id' + number + b'\xa4name\xa4echo\xa9arguments\x80'
    send(len(body).to_bytes(4, 'little') + body)
print('ESCAPED: all of them')
os.read(3, 1)
