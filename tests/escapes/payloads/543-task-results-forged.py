# 543 task-results-forged
# tries: set results and callbacks on futures of tool calls, then let the host answer
# escaped: a forged answer counts as the tool's, a late one breaks the loop
# walls: language=- os=- host=must
# mode: code
import asyncio
f = echo(x='real')
try:
    f.set_result({'x': 'forged'})
    f.set_exception(KeyError())
except Exception:
    pass
g = echo(x='second')
g.cancel()
f.add_done_callback(lambda *a: 1 / 0)
await asyncio.sleep(0.05)
result = await echo(x='third')
