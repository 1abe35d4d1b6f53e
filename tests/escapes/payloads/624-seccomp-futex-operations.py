# 624 seccomp-futex-operations
# tries: futex operations beside waiting and waking, with flags on top
# escaped: a futex that the filter does not know
# walls: language=- os=must host=-
# mode: raw
import ctypes
word = ctypes.c_int(0)
for operation in (2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 3 | 128, 6 | 128 | 256, 4 | 256, 127):
    got, error = raw_syscall(NR['futex'], ctypes.byref(word), operation, 1, 1, ctypes.byref(word), 0)
    if error != 38:
        print('ESCAPED', operation, got, error)
