# 661 userfaultfd
# tries: to hold up the kernel in a page fault
# escaped: a descriptor is given
# walls: language=- os=must host=-
# mode: raw
print('ESCAPED' if raw_syscall(323, 0)[0] >= 0 else 'refused')
