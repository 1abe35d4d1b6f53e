# 712 handle-shows-a-path
# tries: the text of a scheduled call names the engine's file
# escaped: a path of the machine
# walls: language=must os=backstop host=-
# mode: code
import asyncio
handle = asyncio.get_running_loop().call_later(9, print) if False else None
async def main():
    return repr(asyncio.get_running_loop().call_later(9, print))
text = await main()
if '/' in text:
    print('ESCAPED', text)
