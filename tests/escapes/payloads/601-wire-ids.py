# 601 wire-ids
# tries: call ids that repeat, go back, jump, are negative or huge
# escaped: one answer goes to two calls
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))
for number in (1, 1, 0, -1, 2 ** 63, 3):
    os.write(3, wire.pack(wire.Call(number, 'echo', raw({'x': number}))))
