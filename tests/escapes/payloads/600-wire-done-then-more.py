# 600 wire-done-then-more
# tries: a good end, then calls, logs and another end
# escaped: anything after the end counts
# walls: language=- os=- host=must
# mode: raw
import os
import msgspec
from codemode import wire
raw = lambda v: msgspec.Raw(wire.encode_value(v))
os.write(3, wire.pack(wire.Done(raw('first'))))
for frame in (wire.Call(1, 'echo', raw({'x': 1})), wire.Log('ESCAPED'), wire.Done(raw('ESCAPED')), wire.Failed('exception', 'x')):
    os.write(3, wire.pack(frame))
while True:
    pass
