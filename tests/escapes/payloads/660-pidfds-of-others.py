# 660 pidfds-of-others
# tries: a handle to the first process and to the zygote, to kill it or to take its descriptors
# escaped: a handle is given
# walls: language=- os=must host=-
# mode: raw
for pid in (1, 2):
    handle, error = raw_syscall(434, pid, 0)
    if handle >= 0:
        print('ESCAPED', pid, handle)
