# 620 seccomp-prot-bits
# tries: PROT_EXEC hidden among other bits of mmap's and mprotect's protection
# escaped: memory that is writable and executable
# walls: language=- os=must host=-
# mode: raw
for prot in (7, 4, 5, 6, 0x1000007, 0x2000005, 7 | 1 << 32, (1 << 63) - 1, -1):
    got, error = raw_syscall(NR['mmap'], 0, 4096, prot, 0x22, -1, 0)
    if got > 0:
        print('ESCAPED mmap', prot)
    page, error = raw_syscall(NR['mmap'], 0, 4096, 3, 0x22, -1, 0)
    got, error = raw_syscall(NR['mprotect'], page, 4096, prot)
    if got == 0:
        print('ESCAPED mprotect', prot)
