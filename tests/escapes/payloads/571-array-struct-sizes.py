# 571 array-struct-sizes
# tries: sizes that overflow: struct formats, array repeats, range lengths, shifts
# escaped: a crash, memory past the cap
# walls: language=- os=must host=-
# mode: code
import array
import itertools
import struct
for way in (lambda: struct.calcsize('9' * 30 + 's'), lambda: struct.pack('2147483647s', b''), lambda: array.array('d', [0]) * (1 << 60),
            lambda: bytes(1 << 62), lambda: [0] * (1 << 61), lambda: bytearray(b'x') * (1 << 62), lambda: list(range(1 << 40)),
            lambda: 1 << (1 << 40), lambda: array.array('u', 'x') * (1 << 40), lambda: list(itertools.product([0, 1], repeat=64)),
            lambda: struct.iter_unpack('1s', b'x' * (1 << 33)), lambda: int('9' * 4000) ** 5000 and None, lambda: 'x' * (1 << 62)):
    try:
        way()
    except Exception as e:
        print(type(e).__name__)
