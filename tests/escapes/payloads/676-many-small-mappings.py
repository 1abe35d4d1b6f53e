# 676 many-small-mappings
# tries: mappings of a page each with a hole between, until the kernel has no more of them
# escaped: the guest outlives its limits, or the zygote suffers
# walls: language=- os=must host=-
# mode: raw
count = 0
while count < 200_000:
    address, error = raw_syscall(NR['mmap'], 0, 4096, count % 2, 0x22, -1, 0)
    if address < 0:
        break
    count += 1
print('made', count)
