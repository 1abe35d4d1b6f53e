# 602 wire-cancel-flood
# tries: one call and cancellations of it for ever
# escaped: the host spends itself on them
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
os.write(3, wire.pack(wire.Call(1, 'echo', msgspec.Raw(wire.encode_value({'x': 1})))))
data = wire.pack(wire.Cancel(1)) * 1000
while True:
    left = data
    while left:
        left = left[os.write(3, left):]
