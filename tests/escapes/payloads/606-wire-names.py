# 606 wire-names
# tries: calls of tools with names of megabytes, of control characters, of tools that are not there
# escaped: the host holds or prints them
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
empty = msgspec.Raw(wire.encode_value({}))
for number, name in enumerate(('\x1b[2J', 'x' * 1_000_000, 'run_code', '__class__', 'echo\x00'), 1):
    data = wire.pack(wire.Call(number, name, empty))
    while data:
        data = data[os.write(3, data):]
