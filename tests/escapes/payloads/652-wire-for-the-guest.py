# 652 wire-for-the-guest
# tries: frames that only the host sends, and messages of the zygote
# escaped: the host takes one for its own
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


from codemode import control
for data in (
    wire.pack(wire.Value(1, raw('x'))),
    wire.pack(wire.Fault(1, 'x', None)),
    len(control.pack(control.Spawned(1))).to_bytes(4, 'little') + control.pack(control.Spawned(1)),
    len(control.pack(control.Ended(1, 0, 0.0, 0))).to_bytes(4, 'little') + control.pack(control.Ended(1, 0, 0.0, 0)),
):
    send(data)
os.read(3, 1)
