# 682 segment-and-ports
# tries: doors to memory and ports of the processor itself
# escaped: a call goes through
# walls: language=- os=must host=-
# mode: raw
import ctypes
if raw_syscall(154, 1, ctypes.byref((ctypes.c_int * 4)()), 16)[0] == 0:
    print('ESCAPED')
