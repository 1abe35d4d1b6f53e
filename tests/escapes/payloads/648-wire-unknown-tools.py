# 648 wire-unknown-tools
# tries: calls of tools that there are not, as many as there may be calls, answers unread
# escaped: the host keeps all the answers
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))


def send(data):
    while data:
        data = data[os.write(3, data):]


number = 0
while True:
    number += 1
    send(wire.pack(wire.Call(number, 'n' * 2000, raw({}))))
