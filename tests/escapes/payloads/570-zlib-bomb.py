# 570 zlib-bomb
# tries: a compressed text that unfolds a thousandfold, eight times over
# escaped: memory past the cap
# walls: language=- os=must host=-
# mode: code
import zlib
data = bytes(100_000_000)
for i in range(8):
    data = zlib.compress(data)
for i in range(8):
    data = zlib.decompress(data)
result = len([data, zlib.decompress(zlib.compress(bytes(100_000_000))), bytes(200_000_000)])
