# 540 loop-facade
# tries: what the event loop's stand-in and handles lead to
# escaped: the real loop
# walls: language=must os=backstop host=-
# mode: code
import asyncio
async def main():
    loop = asyncio.get_running_loop()
    things = [loop, loop.create_future(), loop.call_soon(int), loop.call_later(0, int), asyncio.current_task(), echo(x=1),
              asyncio.Lock(), asyncio.Queue(), asyncio.Event(), asyncio.timeout(1), asyncio.sleep(0), asyncio.gather()]
    for thing in things:
        for name in ('_loop', 'get_loop', '_get_loop', '_callback', '_coro', 'get_coro', 'get_stack', '_run', '_context',
                     'run_in_executor', 'call_exception_handler', 'subprocess_exec', 'create_connection', 'getaddrinfo', '_channel'):
            if hasattr(thing, name) and thing is not loop:
                print('ESCAPED', thing, name)
        for name in ('subprocess_exec', 'create_connection', 'getaddrinfo', '_channel', 'set_default_executor'):
            if hasattr(loop, name):
                print('ESCAPED', name)
    await things[-2]
    await things[5]
await main()
