# 679 wait-for-ever-on-a-futex
# tries: to wait on a word that nobody changes
# escaped: the run lasts longer than it may
# walls: language=- os=must host=-
# mode: raw
import ctypes
word = ctypes.c_int(0)
while True:
    raw_syscall(NR['futex'], ctypes.byref(word), 128, 0, 0)
