# 668 better-schedule
# tries: a schedule before all other processes
# escaped: it is granted
# walls: language=- os=must host=-
# mode: raw
import ctypes
print('ESCAPED' if raw_syscall(144, 0, 1, ctypes.byref(ctypes.c_int(50)))[0] == 0 else 'refused')
