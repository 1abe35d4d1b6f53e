# 666 timer-taken-away
# tries: the timer that ends the run, set to nothing
# escaped: it is set, and the program goes on
# walls: language=- os=must host=-
# mode: raw
import ctypes
nothing = (ctypes.c_long * 4)()
if raw_syscall(38, 2, ctypes.byref(nothing), 0)[0] == 0:
    print('ESCAPED')
while True:
    pass
