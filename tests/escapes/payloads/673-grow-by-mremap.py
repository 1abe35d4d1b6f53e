# 673 grow-by-mremap
# tries: one mapping made larger and larger, past the bound on memory
# escaped: more than the run may have is there
# walls: language=- os=must host=-
# mode: raw
import mmap
MIB = 1 << 20
address, _ = raw_syscall(NR['mmap'], 0, MIB, 3, 0x22, -1, 0)
size = MIB
while size < 4096 * MIB:
    moved, error = raw_syscall(NR['mremap'], address, size, 2 * size, 1)
    if moved < 0:
        break
    address, size = moved, 2 * size
print('ESCAPED' if size > 512 * MIB else 'bounded')
