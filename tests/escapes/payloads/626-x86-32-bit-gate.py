# 626 x86-32-bit-gate
# tries: the 32-bit system call gate from 64-bit code
# escaped: a call judged by the wrong table
# walls: language=- os=must host=-
# mode: raw
for number in (0x40000000 | 1, 0x40000000 | 257, 0x40000000 | 520, 0xFFFFFFFF, 1 << 40):
    got, error = raw_syscall(number, 3, b'x', 1)
    print('ESCAPED', hex(number), got)
