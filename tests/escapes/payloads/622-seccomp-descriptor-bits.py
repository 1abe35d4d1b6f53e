# 622 seccomp-descriptor-bits
# tries: other descriptors hidden behind the channel's number: high halves, negative, large
# escaped: a descriptor that is not the channel
# walls: language=- os=must host=-
# mode: raw
import ctypes
buffer = ctypes.create_string_buffer(64)
for fd in (0, 1, 2, 4, 5, 1023, -1, 3 | 1 << 31, 1 << 32, 4 | 1 << 32):
    for number in (NR['read'], NR['write']):
        got, error = raw_syscall(number, fd, buffer, 0)
        if got >= 0:
            print('ESCAPED', fd, number)
