# 541 coroutine-by-hand
# tries: coroutines driven by send and throw; what they yield is the loop's own future
# escaped: a task stepped outside its loop, a private future
# walls: language=must os=backstop host=-
# mode: code
import asyncio
async def inner():
    await asyncio.sleep(0.01)
    return await echo(x=1)
c = inner()
got = c.send(None)
for name in ('_loop', 'get_loop', '_callbacks', '_asyncio_future_blocking'):
    if hasattr(got, name):
        print('ESCAPED', name)
for value in (None, 1):
    try:
        c.send(value)
    except BaseException as e:
        if hasattr(e, 'tb_frame') or hasattr(e.__traceback__, 'tb_frame'):
            print('ESCAPED')
c.close()
