# 646 wire-end-during-calls
# tries: an end while calls are in flight, one of them cancelled
# escaped: an answer is sent, or a call goes on, after the end
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


for number in range(1, 9):
    send(wire.pack(wire.Call(number, 'echo', raw({'x': 'x' * 5000}))))
send(wire.pack(wire.Cancel(8)) + wire.pack(wire.Done(raw('end'))) + wire.pack(wire.Cancel(7)))
os.read(3, 1 << 20)
while True:
    pass
