# 544 asyncgen-finalisers
# tries: async generators left open, that await in finally, at the end of the run
# escaped: the run does not end, or a finaliser runs in the engine
# walls: language=- os=must host=must
# mode: code
import asyncio
async def g():
    try:
        while True:
            yield 1
    finally:
        while True:
            await asyncio.sleep(0)
a = g()
await a.__anext__()
b = g()
async for x in b:
    break
result = 'end'
