# 603 wire-kinds
# tries: ends of kinds that a guest cannot know: abort, timeout, ok, worker-exit, and words of its own
# escaped: the host repeats them
# walls: language=- os=- host=must
# mode: raw
import os
from codemode import wire
for kind in ('abort', 'timeout', 'ok', 'worker-exit', 'call-limit', 'ESCAPED', ''):
    os.write(3, wire.pack(wire.Failed(kind, 'forged')))
