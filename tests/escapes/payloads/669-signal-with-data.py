# 669 signal-with-data
# tries: a signal with data to the zygote, by the call for queues
# escaped: it is sent
# walls: language=- os=must host=-
# mode: raw
import ctypes
info = (ctypes.c_int * 32)(9, 0, -1)
print('ESCAPED' if raw_syscall(129, 1, 9, ctypes.byref(info))[0] == 0 else 'refused')
