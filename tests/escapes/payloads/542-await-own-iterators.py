# 542 await-own-iterators
# tries: async protocols of own classes: __aiter__, __aenter__, __anext__ that return engine objects or junk
# escaped: the loop trusts what it is given
# walls: language=must os=backstop host=-
# mode: code
import asyncio
class A:
    def __aiter__(self):
        return self
    def __anext__(self):
        return 5
    async def __aenter__(self):
        return asyncio.current_task()
    async def __aexit__(self, *a):
        return True
try:
    async for x in A():
        print('ESCAPED')
except TypeError:
    pass
async with A() as t:
    t.cancel()
    await asyncio.sleep(0)
result = 'went on'
