# 675 promise-without-memory
# tries: mappings without reserve and growing downwards, as many as there can be
# escaped: more than the run may have is mapped
# walls: language=- os=must host=-
# mode: raw
mapped = 0
for flags in (0x4022, 0x122, 0x20022, 0x8022):
    for _ in range(200):
        address, error = raw_syscall(NR['mmap'], 0, 64 << 20, 3, flags, -1, 0)
        if address < 0:
            break
        mapped += 64
print('ESCAPED' if mapped > 512 else 'bounded', mapped)
