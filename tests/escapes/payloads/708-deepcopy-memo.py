# 708 deepcopy-memo
# tries: deepcopy writes all that it meets into a dict of the caller's: an event that knows its loop gives loop and channel
# escaped: the loop, and the channel to write frames to
# walls: language=must os=backstop host=-
# mode: code
import asyncio
import copy
event = asyncio.Event()
try:
    await asyncio.wait_for(event.wait(), 0.001)
except TimeoutError:
    pass
memo = {}
try:
    copy.deepcopy(event, memo)
except Exception:
    pass
for value in list(memo.values()):
    if hasattr(value, 'send_packed') or hasattr(value, 'create_connection'):
        print('ESCAPED', type(value))
