# 643 wire-map-that-lies
# tries: a result that says it is a dict of four billion pairs
# escaped: the host makes room for them
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


body = b'\x82\xa4type\x04\xa5value\xdf\xff\xff\xff\xff\xa1a\x01'
send(len(body).to_bytes(4, 'little') + body)
os.read(3, 1)
