# 667 timer-of-its-own
# tries: a timer that signals another process
# escaped: a timer is made
# walls: language=- os=must host=-
# mode: raw
import ctypes
event, made = (ctypes.c_int * 16)(0, 0, 9, 4, 1), ctypes.c_int()
print('ESCAPED' if raw_syscall(222, 0, ctypes.byref(event), ctypes.byref(made))[0] == 0 else 'refused')
