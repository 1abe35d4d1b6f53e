# 641 wire-cancel-again
# tries: a call, an answer, and its cancellation again and again
# escaped: the host goes on reading them
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


send(wire.pack(wire.Call(1, 'echo', raw({'x': 1}))))
while True:
    send(wire.pack(wire.Cancel(1)) * 500)
