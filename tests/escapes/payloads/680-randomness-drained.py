# 680 randomness-drained
# tries: chance by the gigabyte
# escaped: the processor time of it is not counted
# walls: language=- os=must host=-
# mode: raw
import ctypes
room = ctypes.create_string_buffer(16 << 20)
while True:
    raw_syscall(NR['getrandom'], ctypes.byref(room), 16 << 20, 0)
