# 627 text-made-writable
# tries: the C library's own code made writable, changed and made executable again
# escaped: code of our own runs
# walls: language=- os=must host=-
# mode: raw
import ctypes
libc = ctypes.CDLL(None)
page = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095
got, error = raw_syscall(NR['mprotect'], page, 4096, 3)
if got == 0:
    ctypes.memset(page + 4000, 0xC3, 1)
    got, error = raw_syscall(NR['mprotect'], page, 4096, 5)
    if got == 0:
        print('ESCAPED')
