# 671 descriptor-from-the-channel
# tries: a descriptor that somebody may have sent along
# escaped: the call goes through
# walls: language=- os=must host=-
# mode: raw
import ctypes
header = (ctypes.c_long * 7)()
if raw_syscall(47, 3, ctypes.byref(header), 0x40)[0] >= 0:
    print('ESCAPED')
