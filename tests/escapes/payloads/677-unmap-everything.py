# 677 unmap-everything
# tries: the program unmapped under its own feet
# escaped: anything but the end of this guest
# walls: language=- os=must host=-
# mode: raw
raw_syscall(NR['munmap'], 0, 0x7FFF_FFFF_F000)
print('ESCAPED: still here')
