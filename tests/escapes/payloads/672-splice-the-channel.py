# 672 splice-the-channel
# tries: pages of the program given to the host by splice, to be changed afterwards
# escaped: the call goes through
# walls: language=- os=must host=-
# mode: raw
import ctypes
vector = (ctypes.c_long * 2)(0, 0)
if raw_syscall(278, 3, ctypes.byref(vector), 1, 0)[0] >= 0:
    print('ESCAPED')
