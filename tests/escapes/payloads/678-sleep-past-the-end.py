# 678 sleep-past-the-end
# tries: a sleep of years, without a word
# escaped: the run lasts longer than it may
# walls: language=- os=must host=-
# mode: raw
import ctypes
while True:
    raw_syscall(NR['nanosleep'], ctypes.byref((ctypes.c_long * 2)(10 ** 9, 0)), 0)
