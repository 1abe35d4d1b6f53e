# 623 seccomp-signal-others
# tries: tgkill at thread and process numbers around our own, and signals other than abort
# escaped: a signal reaches another process
# walls: language=- os=must host=-
# mode: raw
import os
me = os.getpid()
for pid, tid, number in ((me, me, 0), (me, me, 19), (1, 1, 6), (me - 1, me - 1, 6), (0, me, 6), (-1, -1, 6)):
    got, error = raw_syscall(NR['tgkill'], pid, tid, number)
    print('ESCAPED', pid, number)
