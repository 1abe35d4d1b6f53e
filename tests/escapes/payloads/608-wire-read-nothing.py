# 608 wire-read-nothing
# tries: ask for large answers and read none
# escaped: the host's memory grows, or it waits
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
for number in range(1, 900):
    data = wire.pack(wire.Call(number, 'echo', msgspec.Raw(wire.encode_value({'x': 'x' * 300_000}))))
    while data:
        data = data[os.write(3, data):]
