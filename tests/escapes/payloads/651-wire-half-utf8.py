# 651 wire-half-utf8
# tries: log texts that end in the middle of a character, in surrogates and in nothing
# escaped: a text that is none reaches a log
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


for text in (b'\xe2\x82', b'\xed\xa0\x80', b'\xff', b'\xf4\x90\x80\x80', b'\xc0\x80'):
    body = b'\x82\xa4type\x03\xa4text' + bytes([0xa0 + len(text)]) + text
    send(len(body).to_bytes(4, 'little') + body)
