# 670 channel-as-a-socket
# tries: what the channel knows of its other end: its process, its buffers, its address
# escaped: an option is read
# walls: language=- os=must host=-
# mode: raw
import ctypes
value, size = (ctypes.c_int * 4)(), ctypes.c_int(16)
if raw_syscall(55, 3, 1, 17, ctypes.byref(value), ctypes.byref(size))[0] == 0:
    print('ESCAPED', list(value))
