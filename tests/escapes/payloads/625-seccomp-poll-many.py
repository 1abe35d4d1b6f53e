# 625 seccomp-poll-many
# tries: poll over many descriptors, and over one that is not ours
# escaped: waiting on what is not the channel
# walls: language=- os=must host=-
# mode: raw
import ctypes
class P(ctypes.Structure):
    _fields_ = [('fd', ctypes.c_int), ('events', ctypes.c_short), ('revents', ctypes.c_short)]
many = (P * 64)(*[P(i, 1, 0) for i in range(64)])
got, error = raw_syscall(NR['poll'], many, 64, 0)
if got >= 0:
    print('ESCAPED', got)
for fd in list(range(0, 3)) + list(range(4, 64)):
    one = P(fd, 1, 0)
    got, error = raw_syscall(NR['poll'], ctypes.byref(one), 1, 0)
    if got > 0 and not one.revents & 32:
        print('ESCAPED', fd, one.revents)
