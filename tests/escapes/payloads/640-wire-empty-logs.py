# 640 wire-empty-logs
# tries: log frames without text, for ever
# escaped: the log budget never ends
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


data = wire.pack(wire.Log('')) * 4000
while True:
    send(data)
