# 644 wire-fields-twice
# tries: frames that give a field twice, and the tag in the middle
# escaped: what was checked is not what counts
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


for body in (
    b'\x83\xa4type\x03\xa4text\xa1a\xa4text\xa7SECOND ',
    b'\x83\xa4type\x03\xa4type\x04\xa4text\xa1a',
    b'\x82\xa4text\xa1a\xa4type\x03',
):
    send(len(body).to_bytes(4, 'little') + body)
