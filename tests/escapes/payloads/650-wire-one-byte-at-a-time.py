# 650 wire-one-byte-at-a-time
# tries: a large frame, byte by byte, that never ends
# escaped: the host waits for it longer than the run may take
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


send((900_000).to_bytes(4, 'little'))
while True:
    send(b'x')
